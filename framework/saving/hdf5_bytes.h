// SPDX-License-Identifier: Apache-2.0
// Bounds-checked access to the bytes of an HDF5 file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/io/archive.h"

namespace cornu::hdf5 {

// The undefined address.
inline constexpr uint64_t kUndefined = ~uint64_t{0};
// The maximum size of a single read of metadata; data isn't limited by it.
inline constexpr uint64_t kMaxStructure = uint64_t{64} << 20;

// The bytes of a file, on disk or in memory. Addresses count from its start.
class Bytes {
 public:
  virtual ~Bytes() = default;
  uint64_t size() const { return size_; }

  // Fills `out`. Throws DataLoss, naming `what` was being read, unless it is within the file.
  void read(uint64_t address, std::span<std::byte> out, std::string_view what) const;
  // Reads a piece of metadata. Also throws DataLoss when it exceeds kMaxStructure bytes.
  std::vector<std::byte> block(uint64_t address, uint64_t size, std::string_view what) const;

  // Throws NotFound and FailedPrecondition like read_file.
  static std::unique_ptr<Bytes> of_file(const std::string& path);
  // As above, for part of a file, which starts at address 0.
  static std::unique_ptr<Bytes> of_range(const FileRange& range);
  static std::unique_ptr<Bytes> of_memory(std::vector<std::byte> bytes);

 protected:
  explicit Bytes(uint64_t size) : size_(size) {}

 private:
  virtual void read_within(uint64_t address, std::span<std::byte> out) const = 0;
  uint64_t size_;
};

// How many bytes of metadata a whole load may read: parts of a valid file don't overlap.
class Budget {
 public:
  explicit Budget(uint64_t bytes) : left_(bytes) {}
  // Throws DataLoss when this exceeds what is left.
  void take(uint64_t bytes);

 private:
  uint64_t left_;
};

// The blocks of one structure. Detects invalid structures: no block may occur twice, and all blocks
// together can't be larger than the file.
class Blocks {
 public:
  explicit Blocks(const Bytes& file, Budget* budget = nullptr)
      : left_(file.size()), budget_(budget) {}
  // Throws DataLoss, naming `what`, if the block is invalid.
  void add(uint64_t address, uint64_t bytes, std::string_view what);

 private:
  std::set<uint64_t> seen_;
  uint64_t left_;
  Budget* budget_;  // of the load, if blocks count toward it
};

// Reads little-endian numbers and texts from a block, one after another. Reading past its end
// throws DataLoss.
class Cursor {
 public:
  // `what` names the block in errors; both must outlive the cursor.
  Cursor(std::span<const std::byte> bytes, std::string_view what) : all_(bytes), what_(what) {}

  size_t left() const { return all_.size() - at_; }
  size_t position() const { return at_; }
  std::span<const std::byte> take(uint64_t count);
  void skip(uint64_t count) { take(count); }
  void align(size_t unit) { skip((unit - at_ % unit) % unit); }

  uint64_t number(uint64_t bytes);  // 1 to 8 bytes wide
  uint8_t u8() { return static_cast<uint8_t>(number(1)); }
  uint16_t u16() { return static_cast<uint16_t>(number(2)); }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  uint64_t u64() { return number(8); }
  std::string text(uint64_t size);
  std::string text_to_zero();  // also consumes the zero

  // Throws DataLoss unless these bytes follow.
  void expect(std::string_view signature);
  // Reads a byte and returns it; throws Unimplemented unless it is in [first, last].
  uint8_t version(uint8_t first, uint8_t last);

 private:
  std::span<const std::byte> all_;
  std::string_view what_;
  size_t at_ = 0;
};

// The checksum of HDF5 metadata: Bob Jenkins's lookup3, hashlittle.
uint32_t lookup3(std::span<const std::byte> bytes);
// Throws DataLoss unless the last four bytes of `block` are the checksum of the preceding ones.
void verify_checksum(std::span<const std::byte> block, std::string_view what);

}  // namespace cornu::hdf5
