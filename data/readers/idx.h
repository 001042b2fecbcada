// SPDX-License-Identifier: Apache-2.0
// IDX files, the format of MNIST (http://yann.lecun.com/exdb/mnist).
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "framework/core/tensor.h"

namespace cornu::data {

// Reads the array in an IDX file, plain or gzip-compressed (detected by content). uint8, int8,
// int32, float32 and float64 keep their type, int16 becomes int32.
//
// Throws NotFound when the file doesn't exist. Throws DataLoss, with the file's name and the byte
// offset, for anything that isn't exactly one well-formed array; memory is allocated only once the
// file is known to be large enough for what its header promises.
Tensor read_idx(const std::filesystem::path& path);

// Reads the array from memory. `name` is for messages; `owner` keeps `file` alive, null if the
// caller does. The result may share `file`.
Tensor parse_idx(std::span<std::byte> file, const std::string& name,
                 std::shared_ptr<const void> owner = nullptr);

// Writes a tensor with 1 to 255 axes, or a scalar, as an IDX file, atomically (see atomic_file.h,
// also for errors); compressed if the path ends with ".gz". Throws InvalidArgument, with the actual
// value, for dtypes that read_idx doesn't keep, and for axes of 2^32 entries or more.
void write_idx(const std::filesystem::path& path, const Tensor& tensor);

}  // namespace cornu::data
