// SPDX-License-Identifier: Apache-2.0
// Arrays of chunks. An entry is an address, for filtered chunks followed by size and mask.
#include <bit>
#include <map>
#include <memory>

#include "framework/core/error.h"
#include "framework/saving/hdf5_chunks.h"

namespace cornu::hdf5 {
namespace {

constexpr std::string_view kArray = "an array of chunks";
constexpr uint64_t kMaxBits = 63;

Chunk read_entry(std::span<const std::byte> entry, const ChunkGrid& grid) {
  Cursor cursor(entry, kArray);
  Chunk chunk{cursor.u64(), grid.chunk_bytes, 0};
  if (grid.filtered) {
    chunk.stored = cursor.number(entry.size() - 8 - 4);
    chunk.mask = cursor.u32();
  }
  return chunk;
}

// Blocks of an array, each read once and verified by its checksum.
class ArrayBlocks {
 public:
  ArrayBlocks(const Bytes& file, const ChunkGrid& grid) : file_(file), grid_(grid), blocks_(file) {}

  std::span<const std::byte> get(uint64_t address, uint64_t size, std::string_view signature) {
    auto [found, added] = read_.try_emplace(address);
    if (added) {
      blocks_.add(address, size, kArray);
      found->second = file_.block(address, size, kArray);
      verify_checksum(found->second, kArray);
      Cursor cursor(found->second, kArray);
      cursor.expect(signature);
      if (!signature.empty()) expect_head(cursor);
    }
    check<DataLoss>(found->second.size() == size, "{} has parts that overlap.", kArray);
    return found->second;
  }

  // Reads what follows the signature in all blocks. If `cursor` is at the array's header, returns
  // the size of an entry in bytes.
  void expect_head(Cursor& cursor) const {
    cursor.version(0, 0);
    check<DataLoss>(cursor.u8() == (grid_.filtered ? 1 : 0), "{} is damaged.", kArray);
  }

  uint64_t expect_entry(uint8_t bytes) const {
    check<DataLoss>(grid_.filtered ? bytes > 12 && bytes <= 20 : bytes == 8,
                    "{} has entries of {} bytes.", kArray, bytes);
    return bytes;
  }

  Chunk entry(std::span<const std::byte> block, uint64_t begin, uint64_t bytes) const {
    Cursor cursor(block, kArray);
    cursor.skip(begin);
    return read_entry(cursor.take(bytes), grid_);
  }

 private:
  const Bytes& file_;
  const ChunkGrid& grid_;
  Blocks blocks_;
  std::map<uint64_t, std::vector<std::byte>> read_;
};

bool bit_of(std::span<const std::byte> bits, uint64_t number) {
  Cursor cursor(bits, kArray);
  cursor.skip(number / 8);
  return cursor.u8() >> (7 - number % 8) & 1;
}

class FixedArray : public ChunkArray {
 public:
  FixedArray(const Bytes& file, uint64_t address, const ChunkGrid& grid) : blocks_(file, grid) {
    constexpr uint64_t kHeader = 28;
    Cursor cursor(blocks_.get(address, kHeader, "FAHD"), kArray);
    cursor.skip(6);
    entry_bytes_ = blocks_.expect_entry(cursor.u8());
    const uint8_t page_bits = cursor.u8();
    count_ = cursor.u64();
    data_ = cursor.u64();
    check<DataLoss>(page_bits <= kMaxBits && count_ <= file.size(), "{} is damaged.", kArray);
    page_ = uint64_t{1} << page_bits;
    if (data_ == kUndefined) return;
    pages_ = count_ > page_ ? (count_ - 1) / page_ + 1 : 0;
    head_bytes_ = kHead + (pages_ + 7) / 8;
    const uint64_t entries = pages_ == 0 ? count_ * entry_bytes_ : 0;
    head_ = blocks_.get(data_, head_bytes_ + entries + kSum, "FADB");
  }

  Chunk at(uint64_t number) override {
    check<DataLoss>(number < count_, "{} has {} entries, but there is a chunk {}.", kArray, count_,
                    number);
    if (data_ == kUndefined) return {};
    if (pages_ == 0) return blocks_.entry(head_, kHead + number * entry_bytes_, entry_bytes_);
    const uint64_t page = number / page_;
    if (!bit_of(head_.subspan(kHead), page)) return {};
    const uint64_t full = page_ * entry_bytes_ + kSum;
    const uint64_t entries = std::min(page_, count_ - page * page_);
    const auto block =
        blocks_.get(data_ + head_bytes_ + kSum + page * full, entries * entry_bytes_ + kSum, "");
    return blocks_.entry(block, number % page_ * entry_bytes_, entry_bytes_);
  }

 private:
  static constexpr uint64_t kHead = 4 + 1 + 1 + 8;
  static constexpr uint64_t kSum = 4;

  ArrayBlocks blocks_;
  uint64_t entry_bytes_ = 0, page_ = 0, count_ = 0, data_ = 0, pages_ = 0, head_bytes_ = 0;
  std::span<const std::byte> head_;
};

// The first entries are in the index block, the others in data blocks of increasing size: those of
// level k, 2^(k/2) of them, have 2^((k+1)/2) times the entries of the smallest block. The index
// block refers to the blocks of the first levels, a secondary block per level to those of later
// levels.
class ExtensibleArray : public ChunkArray {
 public:
  ExtensibleArray(const Bytes& file, uint64_t address, const ChunkGrid& grid)
      : blocks_(file, grid) {
    constexpr uint64_t kHeader = 72;
    Cursor cursor(blocks_.get(address, kHeader, "EAHD"), kArray);
    cursor.skip(6);
    entry_bytes_ = blocks_.expect_entry(cursor.u8());
    const uint8_t most_bits = cursor.u8();
    first_ = cursor.u8();
    least_ = cursor.u8();
    const uint8_t pointers = cursor.u8();
    const uint8_t page_bits = cursor.u8();
    cursor.skip(6 * 8);
    index_address_ = cursor.u64();
    check<DataLoss>(most_bits <= kMaxBits && page_bits <= kMaxBits && std::has_single_bit(least_) &&
                        std::has_single_bit(uint64_t{pointers}) &&
                        std::bit_width(least_) <= most_bits,
                    "{} is damaged.", kArray);
    offset_bytes_ = (most_bits + uint64_t{7}) / 8;
    page_ = uint64_t{1} << page_bits;
    levels_ = 1 + most_bits - (static_cast<uint64_t>(std::bit_width(least_)) - 1);
    direct_levels_ = 2 * (static_cast<uint64_t>(std::bit_width(uint64_t{pointers})) - 1);
    direct_blocks_ = 2 * (uint64_t{pointers} - 1);
    check<DataLoss>(direct_levels_ <= levels_, "{} is damaged.", kArray);
    if (index_address_ == kUndefined) return;
    const uint64_t entries =
        first_ * entry_bytes_ + (direct_blocks_ + levels_ - direct_levels_) * 8;
    index_ = blocks_.get(index_address_, kHead + entries + kSum, "EAIB");
  }

  Chunk at(uint64_t number) override {
    if (index_address_ == kUndefined) return {};
    if (number < first_) return blocks_.entry(index_, kHead + number * entry_bytes_, entry_bytes_);
    number -= first_;
    const auto level = static_cast<uint64_t>(std::bit_width(number / least_ + 1)) - 1;
    check<DataLoss>(level < levels_, "{} has no place for chunk {}.", kArray, number);
    const uint64_t within = number - ((uint64_t{1} << level) - 1) * least_;
    const uint64_t block_entries = (uint64_t{1} << (level + 1) / 2) * least_;
    const uint64_t block = within / block_entries;
    const uint64_t pages = block_entries > page_ ? block_entries / page_ : 0;
    const uint64_t entry = within % block_entries;
    uint64_t address = kUndefined;
    if (level < direct_levels_) {
      uint64_t before = 0;  // blocks in earlier levels
      for (uint64_t k = 0; k < level; ++k) before += uint64_t{1} << k / 2;
      address = address_at(index_, first_ * entry_bytes_ + (before + block) * 8);
    } else {
      address = from_secondary(level, block, pages, entry);
    }
    if (address == kUndefined) return {};
    return from_data(address, block_entries, pages, entry);
  }

 private:
  static constexpr uint64_t kHead = 4 + 1 + 1 + 8;
  static constexpr uint64_t kSum = 4;

  static uint64_t address_at(std::span<const std::byte> block, uint64_t at) {
    Cursor cursor(block, kArray);
    cursor.skip(kHead + at);
    return cursor.u64();
  }

  // The address of a data block; nullopt if it, or the page of this entry, was never written.
  uint64_t from_secondary(uint64_t level, uint64_t block, uint64_t pages, uint64_t entry) {
    const uint64_t blocks = uint64_t{1} << level / 2;
    const uint64_t bits = pages > 0 ? blocks * ((pages + 7) / 8) : 0;
    const uint64_t address =
        address_at(index_, first_ * entry_bytes_ + (direct_blocks_ + level - direct_levels_) * 8);
    if (address == kUndefined) return kUndefined;
    const uint64_t head = offset_bytes_ + bits;
    const auto secondary = blocks_.get(address, kHead + head + blocks * 8 + kSum, "EASB");
    if (pages > 0 &&
        !bit_of(secondary.subspan(kHead + offset_bytes_, bits), block * pages + entry / page_)) {
      return kUndefined;
    }
    return address_at(secondary, head + block * 8);
  }

  Chunk from_data(uint64_t address, uint64_t entries, uint64_t pages, uint64_t entry) {
    const uint64_t head = kHead + offset_bytes_;
    if (pages == 0) {
      const auto block = blocks_.get(address, head + entries * entry_bytes_ + kSum, "EADB");
      return blocks_.entry(block, head + entry * entry_bytes_, entry_bytes_);
    }
    blocks_.get(address, head + kSum, "EADB");
    const uint64_t full = page_ * entry_bytes_ + kSum;
    const auto block = blocks_.get(address + head + kSum + entry / page_ * full, full, "");
    return blocks_.entry(block, entry % page_ * entry_bytes_, entry_bytes_);
  }

  ArrayBlocks blocks_;
  uint64_t entry_bytes_ = 0, first_ = 0, least_ = 0, index_address_ = 0, offset_bytes_ = 0;
  uint64_t page_ = 0, levels_ = 0, direct_levels_ = 0, direct_blocks_ = 0;
  std::span<const std::byte> index_;
};

}  // namespace

std::unique_ptr<ChunkArray> open_fixed_array(const Bytes& file, uint64_t address,
                                             const ChunkGrid& grid) {
  return std::make_unique<FixedArray>(file, address, grid);
}

std::unique_ptr<ChunkArray> open_extensible_array(const Bytes& file, uint64_t address,
                                                  const ChunkGrid& grid) {
  return std::make_unique<ExtensibleArray>(file, address, grid);
}

}  // namespace cornu::hdf5
