// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/hdf5_heap.h"

#include <algorithm>
#include <bit>

#include "framework/core/error.h"
#include "framework/io/fuzzing.h"

namespace cornu::hdf5 {
namespace {

constexpr std::string_view kIndex = "an index";
constexpr std::string_view kHeap = "a heap";

uint64_t bytes_for(uint64_t largest) { return (std::bit_width(largest | 1) + 7) / 8; }

// The checksum of a direct block is computed with zeros in its own place.
void verify_with_checksum_within(std::vector<std::byte> block, size_t at) {
  check<DataLoss>(block.size() >= at + 4, "{} ends too early.", kHeap);
  Cursor cursor(block, kHeap);
  cursor.skip(at);
  const uint32_t stored = cursor.u32();
  std::fill_n(block.begin() + static_cast<std::ptrdiff_t>(at), 4, std::byte{0});
  check<DataLoss>(!kChecksumsMatter || stored == lookup3(block),
                  "{} is damaged: its checksum is wrong.", kHeap);
}

class Tree {
 public:
  using Visit = std::function<void(std::span<const std::byte>)>;

  Tree(const Bytes& file, RecordType type, Budget* budget, const Visit& visit)
      : file_(file), type_(type), visit_(visit), blocks_(file, budget) {}

  void read(uint64_t address) {
    constexpr uint64_t kSize = 38;
    const auto block = file_.block(address, kSize, kIndex);
    verify_checksum(block, kIndex);
    Cursor cursor(block, kIndex);
    cursor.expect("BTHD");
    cursor.version(0, 0);
    const uint8_t type = cursor.u8();
    node_size_ = cursor.u32();
    record_size_ = cursor.u16();
    const uint16_t depth = cursor.u16();
    cursor.skip(2);
    const uint64_t root = cursor.u64();
    const uint16_t records = cursor.u16();
    check<DataLoss>(type == static_cast<uint8_t>(type_) && record_size_ > 4 &&
                        node_size_ > kNodeOverhead && node_size_ <= kMaxStructure && depth < 16,
                    "{} is damaged.", kIndex);
    measure(depth);
    if (records > 0) read_node(root, records, depth);
  }

 private:
  static constexpr uint64_t kNodeOverhead = 10;  // signature, version, type and checksum

  // Computes the sizes in bytes of the record counts in nodes, by depth.
  void measure(int depth) {
    const uint64_t leaf_records = (node_size_ - kNodeOverhead) / record_size_;
    count_bytes_ = bytes_for(leaf_records);
    uint64_t most = leaf_records;
    total_bytes_ = {0};
    for (int level = 1; level <= depth; ++level) {
      const uint64_t pointer = 8 + count_bytes_ + total_bytes_.back();
      check<DataLoss>(node_size_ > kNodeOverhead + pointer && most < uint64_t{1} << 48,
                      "{} is damaged.", kIndex);
      const uint64_t records = (node_size_ - kNodeOverhead - pointer) / (record_size_ + pointer);
      most = (records + 1) * most + records;
      total_bytes_.push_back(bytes_for(most));
    }
  }

  void read_node(uint64_t address, uint64_t records, int depth) {
    check<DataLoss>(records <= node_size_ / record_size_, "{} is damaged.", kIndex);
    const uint64_t pointer =
        depth == 0 ? 0 : 8 + count_bytes_ + total_bytes_[static_cast<size_t>(depth) - 1];
    const uint64_t pointers = depth == 0 ? 0 : (records + 1) * pointer;
    const uint64_t size = kNodeOverhead + records * record_size_ + pointers;
    blocks_.add(address, size, kIndex);
    const auto block = file_.block(address, size, kIndex);
    verify_checksum(block, kIndex);
    Cursor cursor(block, kIndex);
    cursor.expect(depth == 0 ? "BTLF" : "BTIN");
    cursor.skip(2);
    for (uint64_t i = 0; i < records; ++i) visit_(cursor.take(record_size_));
    for (uint64_t i = 0; depth > 0 && i <= records; ++i) {
      const uint64_t child = cursor.u64();
      const uint64_t child_records = cursor.number(count_bytes_);
      cursor.skip(pointer - 8 - count_bytes_);
      read_node(child, child_records, depth - 1);
    }
  }

  const Bytes& file_;
  RecordType type_;
  const Visit& visit_;
  Blocks blocks_;
  uint64_t node_size_ = 0, record_size_ = 0, count_bytes_ = 0;
  std::vector<uint64_t> total_bytes_;
};

}  // namespace

void for_each_record(const Bytes& file, uint64_t address, RecordType type, Budget* budget,
                     const std::function<void(std::span<const std::byte>)>& visit) {
  Tree(file, type, budget, visit).read(address);
}

FractalHeap::FractalHeap(const Bytes& file, uint64_t address, Budget& budget)
    : file_(file), budget_(budget), blocks_(file, &budget) {
  constexpr uint64_t kSize = 146;
  const auto block = file.block(address, kSize, kHeap);
  verify_checksum(block, kHeap);
  Cursor cursor(block, kHeap);
  cursor.expect("FRHP");
  cursor.version(0, 0);
  cursor.skip(2);  // the length of an id
  check<Unimplemented>(cursor.u16() == 0, "{} is compressed, which can't be read.", kHeap);
  has_checksums_ = cursor.u8() & 2;
  most_object_ = cursor.u32();
  cursor.skip(8);
  huge_index_ = cursor.u64();
  cursor.skip(10 * 8);
  width_ = cursor.u16();
  first_size_ = cursor.u64();
  most_direct_ = cursor.u64();
  offset_bytes_ = (cursor.u16() + uint64_t{7}) / 8;
  cursor.skip(2);
  root_ = cursor.u64();
  rows_ = cursor.u16();
  check<DataLoss>(width_ > 0 && std::has_single_bit(first_size_) &&
                      std::has_single_bit(most_direct_) && first_size_ <= most_direct_ &&
                      most_direct_ <= kMaxStructure && offset_bytes_ >= 1 && offset_bytes_ <= 8,
                  "{} is damaged.", kHeap);
  direct_rows_ = static_cast<uint64_t>(std::bit_width(most_direct_ / first_size_)) + 1;
  length_bytes_ = std::min(bytes_for(most_direct_ - 1), bytes_for(most_object_));
}

std::span<const std::byte> FractalHeap::object(std::span<const std::byte> id) {
  Cursor cursor(id, kHeap);
  const uint8_t kind = cursor.u8() & 0xF0;
  constexpr uint8_t kHuge = 0x10;
  constexpr uint64_t kHugeId = 7;
  if (kind == kHuge) return huge_object(cursor.number(std::min<uint64_t>(kHugeId, cursor.left())));
  check<Unimplemented>(kind == 0, "{} has an object that isn't managed.", kHeap);
  const uint64_t offset = cursor.number(offset_bytes_);
  const uint64_t length = cursor.number(length_bytes_);
  if (rows_ == 0) return from_direct(root_, first_size_, offset, length);
  return from_indirect(root_, rows_, offset, length, 0);
}

std::span<const std::byte> FractalHeap::huge_object(uint64_t id) {
  if (!huge_known_) {
    for_each_record(file_, huge_index_, RecordType::HugeObjects, &budget_,
                    [&](std::span<const std::byte> record) {
                      Cursor cursor(record, kHeap);
                      const uint64_t address = cursor.u64();
                      const uint64_t length = cursor.u64();
                      huge_.emplace(cursor.u64(), std::pair(address, length));
                    });
    huge_known_ = true;
  }
  const auto found = huge_.find(id);
  check<DataLoss>(found != huge_.end(), "{} doesn't have the object that is looked for.", kHeap);
  return block(found->second.first, found->second.second).first;
}

// Returns a block, and whether it was just read.
std::pair<const std::vector<std::byte>&, bool> FractalHeap::block(uint64_t address, uint64_t size) {
  if (const auto found = read_.find(address); found != read_.end()) {
    check<DataLoss>(found->second.size() == size, "{} has blocks that overlap.", kHeap);
    return {found->second, false};
  }
  blocks_.add(address, size, kHeap);
  return {read_.emplace(address, file_.block(address, size, kHeap)).first->second, true};
}

std::span<const std::byte> FractalHeap::from_direct(uint64_t address, uint64_t size,
                                                    uint64_t offset, uint64_t length) {
  const auto [direct, added] = block(address, size);
  if (added) {
    Cursor(direct, kHeap).expect("FHDB");
    const size_t at = 4 + 1 + 8 + offset_bytes_;
    if (has_checksums_) verify_with_checksum_within(direct, at);
  }
  check<DataLoss>(offset <= direct.size() && length <= direct.size() - offset,
                  "{} has an object past its end.", kHeap);
  return std::span(direct).subspan(static_cast<size_t>(offset), static_cast<size_t>(length));
}

// `offset` counts from the start of the range that the block covers.
std::span<const std::byte> FractalHeap::from_indirect(uint64_t address, uint64_t rows,
                                                      uint64_t offset, uint64_t length, int depth) {
  check<DataLoss>(depth < 8 && rows <= 64, "{} is too deep.", kHeap);
  const uint64_t head = 4 + 1 + 8 + offset_bytes_;
  const auto [indirect, added] = block(address, head + rows * width_ * 8 + 4);
  Cursor cursor(indirect, kHeap);
  cursor.expect("FHIB");
  if (added) verify_checksum(indirect, kHeap);
  for (uint64_t row = 0, begin = 0; row < rows; ++row) {
    const uint64_t size = row_size(row);
    if (offset - begin < size * width_) {
      const uint64_t column = (offset - begin) / size;
      cursor.skip(head - 4 + (row * width_ + column) * 8);
      const uint64_t child = cursor.u64();
      const uint64_t within = offset - begin - column * size;
      if (row < direct_rows_) return from_direct(child, size, within, length);
      return from_indirect(child, rows_for(size), within, length, depth + 1);
    }
    begin += size * width_;
  }
  raise<DataLoss>("{} has an object past its end.", kHeap);
}

// The number of rows in an indirect block that covers `size` bytes.
uint64_t FractalHeap::rows_for(uint64_t size) const {
  const uint64_t first_row = first_size_ * width_;
  return size < first_row ? 0 : static_cast<uint64_t>(std::bit_width(size / first_row));
}

}  // namespace cornu::hdf5
