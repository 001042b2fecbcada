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

// All arrays of a .npz file, stored or compressed, by name and in the file's order (numpy.load):
// `auto arrays = data::load_npz("mnist.npz"); arrays["x_train"]`. Each is read as load_npy reads
// one, with the same errors. What isn't called .npy in the archive is left out.
Tensors load_npz(const std::filesystem::path& path);

// Writes tensors as numpy.savez does, atomically (atomic_file.h, also for the errors):
// `savez("data.npz", {{"x", x}, {"y", y}})`; those without names are arr_0, arr_1, …
// InvalidArgument when two have the same name, or one has none; FailedPrecondition for a symbolic
// tensor. Unlike NumPy, no ".npz" is added to the path.
void savez(const std::filesystem::path& path, const Tensors& tensors);
void savez_compressed(const std::filesystem::path& path, const Tensors& tensors);

// A .npz file that is read array by array. Errors name the file and the array; NotFound, with the
// nearest name, when there is no such array. Not thread-safe.
class NpzReader {
 public:
  explicit NpzReader(const std::filesystem::path& path);

  const std::vector<std::string>& names() const { return names_; }
  Tensor read(std::string_view name) const;  // as load_npy
  // Lists of integers of any lengths, which NumPy holds as an array (of one axis) of Python
  // objects: lists, tuples or arrays. Or an array of two axes, which lists of one length become.
  // Its pickle executes nothing (pickle.h, also for the errors).
  std::vector<std::vector<int64_t>> read_ragged(std::string_view name) const;

 private:
  std::string place_of(std::string_view name) const;  // for errors
  std::shared_ptr<Buffer> member(std::string_view name) const;

  std::string path_;
  std::shared_ptr<const ArchiveReader> archive_;
  std::vector<std::string> names_;
};

}  // namespace cornu::data
