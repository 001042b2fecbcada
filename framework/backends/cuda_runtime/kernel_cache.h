// SPDX-License-Identifier: Apache-2.0
// Compiled kernels on disk, shared by all programs of a user.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cornu::cuda {

// A folder of kernels' machine code, which is created on demand. Several processes and threads may
// use one folder. Where it can't be read or written, it is as if it were always empty.
class KernelCache {
 public:
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 30;

  // Once its files exceed `max_bytes`, those that were used least recently are removed.
  explicit KernelCache(std::filesystem::path folder, uint64_t max_bytes = kMaxBytes)
      : folder_(std::move(folder)), max_bytes_(max_bytes) {}

  // Returns nullopt when there is no such file, or a damaged one. `name`: hexadecimal digits.
  std::optional<std::vector<char>> read(const std::string& name) const;
  void write(const std::string& name, const std::vector<char>& image) const;
  // Removes what is too much, down to three quarters of max_bytes; only files of this class. For
  // callers that have written.
  void trim() const;

 private:
  std::filesystem::path path_of(const std::string& name) const { return folder_ / (name + ".bin"); }

  std::filesystem::path folder_;
  uint64_t max_bytes_;
};

}  // namespace cornu::cuda
