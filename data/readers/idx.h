// SPDX-License-Identifier: Apache-2.0
// IDX files: the format of MNIST (http://yann.lecun.com/exdb/mnist).
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "framework/core/tensor.h"

namespace cornu::data {

// The array in an IDX file, plain or gzip-compressed (told apart by content). uint8, int8, int32,
// float32 and float64 keep their type, int16 becomes int32.
//
// NotFound when there is no such file. DataLoss, with the file's name and the byte offset, for
// anything that isn't exactly one well-formed array; memory is only taken once the file is known to
// be large enough for what its header promises.
Tensor read_idx(const std::filesystem::path& path);

// The same from memory. `name` is for messages; `owner` keeps `file` alive, null if the caller
// does. The result may share `file`.
Tensor parse_idx(std::span<std::byte> file, const std::string& name,
                 std::shared_ptr<const void> owner = nullptr);

// Writes a tensor of 1 to 255 axes, or a scalar, as an IDX file, atomically (atomic_file.h, also
// for the errors); compressed where the path ends with ".gz". InvalidArgument, with what there is,
// for other dtypes than those that read_idx keeps, and for axes of 2^32 entries or more.
void write_idx(const std::filesystem::path& path, const Tensor& tensor);

}  // namespace cornu::data
