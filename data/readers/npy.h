// SPDX-License-Identifier: Apache-2.0
// .npy files, which hold one NumPy array each (https://numpy.org/doc/stable/reference/generated/
// numpy.lib.format.html). Versions 1.0, 2.0 and 3.0.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "framework/core/tensor.h"

namespace cornu::data {

// Reads the array in a .npy file (numpy.load), converted to row-major and to this machine's byte
// order. Types that a tensor supports are kept; int16 and uint16 become int32; the opaque two-byte
// type ('V2', as NumPy writes ml_dtypes.bfloat16) becomes bfloat16.
//
// Throws NotFound when the file doesn't exist. Throws DataLoss, with the file's name and the byte
// offset, for anything that isn't exactly one well-formed array; Unimplemented for other types;
// InvalidArgument for Python objects, which are stored as a pickle (NpzReader::read_ragged reads
// lists). The header is parsed, never evaluated; memory is allocated only once the file is known to
// be as large as its header promises.
Tensor load_npy(const std::filesystem::path& path);

// Reads the array from memory. `name` is for messages; `owner` keeps `file` alive, null if the
// caller does. The result may share `file`.
Tensor parse_npy(std::span<const std::byte> file, const std::string& name,
                 std::shared_ptr<const void> owner = nullptr);

// Writes a tensor as numpy.save writes an array, with identical bytes, but atomically (see
// atomic_file.h, also for errors). bfloat16 is written as 'V2': in Python,
// `numpy.load(path).view(ml_dtypes.bfloat16)`. Throws FailedPrecondition for a symbolic tensor.
// Unlike NumPy, doesn't append ".npy" to the path.
void save_npy(const std::filesystem::path& path, const Tensor& tensor);

}  // namespace cornu::data
