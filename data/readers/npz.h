// SPDX-License-Identifier: Apache-2.0
// .npz files: zip archives of named NumPy arrays.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/core/tensors.h"

namespace cornu {
class ArchiveReader;
}

namespace cornu::data {

// Reads all arrays of a .npz file, stored or compressed, by name and in the file's order
// (numpy.load): `auto arrays = data::load_npz("mnist.npz"); arrays["x_train"]`. Each is read like
// load_npy, with the same errors. Archive members whose names don't end with .npy are skipped.
Tensors load_npz(const std::filesystem::path& path);

// Writes tensors like numpy.savez, atomically (see atomic_file.h, also for errors):
// `savez("data.npz", {{"x", x}, {"y", y}})`; unnamed tensors are called arr_0, arr_1, … Throws
// InvalidArgument for duplicate and empty names; FailedPrecondition for a symbolic tensor. Unlike
// NumPy, doesn't append ".npz" to the path.
void savez(const std::filesystem::path& path, const Tensors& tensors);
void savez_compressed(const std::filesystem::path& path, const Tensors& tensors);

// Reads a .npz file array by array. Errors name the file and the array; throws NotFound, with the
// closest name, when there is no such array. Not thread-safe.
class NpzReader {
 public:
  explicit NpzReader(const std::filesystem::path& path);

  const std::vector<std::string>& names() const { return names_; }
  Tensor read(std::string_view name) const;  // see load_npy
  // Reads lists of integers of varying lengths, which NumPy stores as a one-dimensional array of
  // Python objects: lists, tuples or arrays. Also reads a two-dimensional array, which lists of
  // equal length become. Reading the pickle executes nothing (see pickle.h, also for errors).
  std::vector<std::vector<int64_t>> read_ragged(std::string_view name) const;

 private:
  std::string place_of(std::string_view name) const;  // for errors
  std::shared_ptr<Buffer> member(std::string_view name) const;

  std::string path_;
  std::shared_ptr<const ArchiveReader> archive_;
  std::vector<std::string> names_;
};

}  // namespace cornu::data
