// SPDX-License-Identifier: Apache-2.0
// A file assembled in memory that refers to most of its bytes where they are instead of copying
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace cornu {

class GatheredFile {
 public:
  // From now on, written bytes that are within `bytes` are referred to, not copied: they must
  // outlive the file and not change.
  void share(std::span<const std::byte> bytes) { shared_ = bytes; }

  void write(uint64_t address, std::span<const std::byte> bytes);
  // Bytes that were never written are zero.
  void read(uint64_t address, std::span<std::byte> out) const;

  // Returns the first `size` bytes as consecutive pieces, which are valid as long as the file.
  std::vector<std::span<const std::byte>> pieces(uint64_t size) const;

 private:
  static constexpr uint64_t kPage = uint64_t{1} << 16;
  using Page = std::unique_ptr<std::byte[]>;

  bool is_shared(std::span<const std::byte> bytes) const;
  // Returns the longest contiguous run of bytes at `address`, at most `most`.
  std::span<const std::byte> run_at(uint64_t address, uint64_t most) const;

  std::span<const std::byte> shared_;
  std::map<uint64_t, std::span<const std::byte>> references_;  // by address; non-overlapping
  std::map<uint64_t, Page> pages_;                             // by page number
};

}  // namespace cornu
