// SPDX-License-Identifier: Apache-2.0
// .npy files: one NumPy array each (https://numpy.org/doc/stable/reference/generated/
// numpy.lib.format.html). Versions 1.0, 2.0 and 3.0.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "framework/core/tensor.h"

namespace cornu::data {

// The array in a .npy file (numpy.load), row-major whatever the file's order, and of this machine's
// byte order. Types that a tensor has are kept; int16 and uint16 become int32; two bytes of no type
// ('V2', what NumPy writes for ml_dtypes.bfloat16) are bfloat16.
//
// NotFound when there is no such file. DataLoss, with the file's name and the byte offset, for
// anything that isn't exactly one well-formed array. Unimplemented for other types; InvalidArgument
// for Python objects, which lie in the file as a pickle (NpzReader::read_ragged reads lists). The
// header is parsed, never evaluated; memory is only taken once the file is known to be as large as
// its header promises.
Tensor load_npy(const std::filesystem::path& path);

// The same from memory. `name` is for messages; `owner` keeps `file` alive, null if the caller
// does. The result may share `file`.
Tensor parse_npy(std::span<const std::byte> file, const std::string& name,
                 std::shared_ptr<const void> owner = nullptr);

// Writes a tensor as numpy.save writes an array, to the same bytes, but atomically (atomic_file.h,
// also for the errors). bfloat16 is written as 'V2': in Python,
// `numpy.load(path).view(ml_dtypes.bfloat16)`. FailedPrecondition on a symbolic tensor. Unlike
// NumPy, no ".npy" is added to the path.
void save_npy(const std::filesystem::path& path, const Tensor& tensor);

}  // namespace cornu::data
