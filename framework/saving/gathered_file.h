// SPDX-License-Identifier: Apache-2.0
// A file that is put together in memory, where most of its bytes are others' and stay where they
// are.
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
  // Bytes written from here on that lie within these are referred to, not copied: they must outlive
  // the file, and not change.
  void share(std::span<const std::byte> bytes) { shared_ = bytes; }

  void write(uint64_t address, std::span<const std::byte> bytes);
  // What was never written is zero.
  void read(uint64_t address, std::span<std::byte> out) const;

  // The first `size` bytes, as pieces that follow each other. They last as long as the file.
  std::vector<std::span<const std::byte>> pieces(uint64_t size) const;

 private:
  static constexpr uint64_t kPage = uint64_t{1} << 16;
  using Page = std::unique_ptr<std::byte[]>;

  bool is_shared(std::span<const std::byte> bytes) const;
  // The longest run of bytes at `address` that lie together, at most `most`.
  std::span<const std::byte> run_at(uint64_t address, uint64_t most) const;

  std::span<const std::byte> shared_;
  std::map<uint64_t, std::span<const std::byte>> references_;  // by address; they don't overlap
  std::map<uint64_t, Page> pages_;                             // by number
};

}  // namespace cornu
