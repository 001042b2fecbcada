// SPDX-License-Identifier: Apache-2.0
// The links of a group: a symbol table (a B-tree over names in a heap) in files of HDF5's earliest
// format, else messages in its header, or, for many links, in a fractal heap.
#include <algorithm>
#include <bit>

#include "framework/core/error.h"
#include "framework/core/strings.h"
#include "framework/io/fuzzing.h"
#include "framework/saving/hdf5_object.h"

namespace cornu::hdf5 {
namespace {

using Links = std::map<std::string, Link>;

constexpr std::string_view kTable = "a group's symbol table";
constexpr std::string_view kNames = "a group's names";
constexpr std::string_view kLink = "a group's link";
constexpr std::string_view kIndex = "a group's index";
constexpr std::string_view kHeap = "a group's heap";

// Collects the links of a group. Names may overlap in the file, but all together have no more
// bytes.
class LinkList {
 public:
  LinkList(const Bytes& file, Budget& budget) : left_(file.size()), budget_(budget) {}

  void add(const std::string& name, const Link& link) {
    check<DataLoss>(name.size() <= left_, "{} overlap: they have more bytes than the file.",
                    kNames);
    left_ -= name.size();
    budget_.take(name.size() + sizeof(link.address));
    check<DataLoss>(!name.empty() && links_.emplace(name, link).second,
                    "{} has the name '{}' twice, or empty.", kNames, printable(name));
  }
  Links take() { return std::move(links_); }
  Budget& budget() { return budget_; }

 private:
  uint64_t left_;
  Budget& budget_;
  Links links_;
};

// III.A.1 B-trees of version 1, III.B symbol table nodes, III.D local heaps.
class SymbolTable {
 public:
  SymbolTable(const Bytes& file, LinkList& links)
      : file_(file), links_(links), blocks_(file, &links.budget()) {}

  void read(const Message& message) {
    Cursor cursor(message.data, kTable);
    const uint64_t tree = cursor.u64();
    find_names(cursor.u64());
    read_tree(tree, -1);
  }

 private:
  void find_names(uint64_t address) {
    const auto head = file_.block(address, 32, kNames);
    Cursor cursor(head, kNames);
    cursor.expect("HEAP");
    cursor.version(0, 0);
    cursor.skip(3);
    names_size_ = cursor.u64();
    cursor.skip(8);
    names_ = cursor.u64();
    check<DataLoss>(names_size_ <= file_.size() && names_ <= file_.size() - names_size_,
                    "{} are said to be {} bytes at byte {}, which is too much.", kNames,
                    names_size_, names_);
  }

  // Only what is used of the names is read: groups may share them.
  std::string name_at(uint64_t offset) const {
    for (uint64_t size = 64;; size *= 2) {
      check<DataLoss>(offset <= names_size_, "{} ends too early.", kNames);
      const uint64_t most = std::min(size, names_size_ - offset);
      const auto bytes = file_.block(names_ + offset, most, kNames);
      const bool whole = std::ranges::find(bytes, std::byte{0}) != bytes.end();
      if (whole || most < size) return Cursor(bytes, kNames).text_to_zero();
    }
  }

  // `level` of the node that is expected; -1: any.
  void read_tree(uint64_t address, int level) {
    constexpr uint64_t kHead = 24;
    const auto head_bytes = file_.block(address, kHead, kTable);
    Cursor head(head_bytes, kTable);
    head.expect("TREE");
    const uint8_t type = head.u8();
    const uint8_t found = head.u8();
    check<DataLoss>(type == 0 && (level < 0 || level == found), "{} is no tree of names.", kTable);
    const uint16_t children = head.u16();
    blocks_.add(address, kHead + uint64_t{children} * 16, kTable);
    const auto body = file_.block(address + kHead, uint64_t{children} * 16, kTable);
    Cursor cursor(body, kTable);
    for (uint16_t i = 0; i < children; ++i) {
      cursor.skip(8);  // the name at the boundary
      const uint64_t child = cursor.u64();
      if (found > 0) {
        read_tree(child, found - 1);
      } else {
        read_leaf(child);
      }
    }
  }

  void read_leaf(uint64_t address) {
    constexpr uint64_t kHead = 8;
    constexpr uint64_t kEntry = 40;
    constexpr uint32_t kSoft = 2;
    const auto head_bytes = file_.block(address, kHead, kTable);
    Cursor head(head_bytes, kTable);
    head.expect("SNOD");
    head.version(1, 1);
    head.skip(1);
    const uint16_t count = head.u16();
    blocks_.add(address, kHead + count * kEntry, kTable);
    const auto body = file_.block(address + kHead, count * kEntry, kTable);
    Cursor cursor(body, kTable);
    for (uint16_t i = 0; i < count; ++i) {
      const std::string name = name_at(cursor.u64());
      const uint64_t object = cursor.u64();
      const bool hard = cursor.u32() != kSoft;
      cursor.skip(20);
      links_.add(name, {hard, object});
    }
  }

  const Bytes& file_;
  uint64_t names_ = 0;  // their address
  uint64_t names_size_ = 0;
  LinkList& links_;
  Blocks blocks_;
};

// IV.A.2.g
void read_link(Cursor cursor, LinkList& links) {
  cursor.version(1, 1);
  const uint8_t flags = cursor.u8();
  const uint8_t kind = flags & 8 ? cursor.u8() : 0;
  if (flags & 4) cursor.skip(8);   // creation order
  if (flags & 16) cursor.skip(1);  // character set
  const std::string name = cursor.text(cursor.number(uint64_t{1} << (flags & 3)));
  Link link{kind == 0, kUndefined};
  if (link.hard) link.address = cursor.u64();
  links.add(name, link);
}

uint64_t bytes_for(uint64_t largest) { return (std::bit_width(largest | 1) + 7) / 8; }

// III.G, of blocks without filters.
class FractalHeap {
 public:
  FractalHeap(const Bytes& file, uint64_t address, Budget& budget)
      : file_(file), blocks_(file, &budget) {
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
    cursor.skip(12 * 8);
    width_ = cursor.u16();
    first_size_ = cursor.u64();
    most_direct_ = cursor.u64();
    offset_bytes_ = (cursor.u16() + uint64_t{7}) / 8;
    cursor.skip(2);
    root_ = cursor.u64();
    rows_ = cursor.u16();
    check<DataLoss>(width_ > 0 && std::has_single_bit(first_size_) &&
                        std::has_single_bit(most_direct_) && first_size_ <= most_direct_ &&
                        most_direct_ <= kMostStructure && offset_bytes_ >= 1 && offset_bytes_ <= 8,
                    "{} is damaged.", kHeap);
    direct_rows_ = static_cast<uint64_t>(std::bit_width(most_direct_ / first_size_)) + 1;
    length_bytes_ = std::min(bytes_for(most_direct_ - 1), bytes_for(most_object_));
  }

  // The bytes of an object, which are the heap's.
  std::span<const std::byte> object(std::span<const std::byte> id) {
    Cursor cursor(id, kHeap);
    check<Unimplemented>((cursor.u8() & 0xF0) == 0, "{} has an object that isn't managed.", kHeap);
    const uint64_t offset = cursor.number(offset_bytes_);
    const uint64_t length = cursor.number(length_bytes_);
    if (rows_ == 0) return from_direct(root_, first_size_, offset, length);
    return from_indirect(root_, rows_, offset, length, 0);
  }

 private:
  uint64_t row_size(uint64_t row) const { return row < 2 ? first_size_ : first_size_ << (row - 1); }

  // A block, and whether it was read just now.
  std::pair<const std::vector<std::byte>&, bool> block(uint64_t address, uint64_t size) {
    if (const auto found = read_.find(address); found != read_.end()) {
      check<DataLoss>(found->second.size() == size, "{} has blocks that overlap.", kHeap);
      return {found->second, false};
    }
    blocks_.add(address, size, kHeap);
    return {read_.emplace(address, file_.block(address, size, kHeap)).first->second, true};
  }

  std::span<const std::byte> from_direct(uint64_t address, uint64_t size, uint64_t offset,
                                         uint64_t length) {
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

  // Direct blocks are summed with zeros in place of their checksum.
  static void verify_with_checksum_within(std::vector<std::byte> block, size_t at) {
    check<DataLoss>(block.size() >= at + 4, "{} ends too early.", kHeap);
    Cursor cursor(block, kHeap);
    cursor.skip(at);
    const uint32_t stored = cursor.u32();
    std::fill_n(block.begin() + static_cast<std::ptrdiff_t>(at), 4, std::byte{0});
    check<DataLoss>(!kChecksumsMatter || stored == lookup3(block),
                    "{} is damaged: its checksum is wrong.", kHeap);
  }

  // `offset` counts from the start of what the block covers.
  std::span<const std::byte> from_indirect(uint64_t address, uint64_t rows, uint64_t offset,
                                           uint64_t length, int depth) {
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

  // The rows of an indirect block that covers `size` bytes.
  uint64_t rows_for(uint64_t size) const {
    const uint64_t first_row = first_size_ * width_;
    return size < first_row ? 0 : static_cast<uint64_t>(std::bit_width(size / first_row));
  }

  const Bytes& file_;
  bool has_checksums_ = false;
  uint64_t most_object_ = 0, width_ = 0, first_size_ = 0, most_direct_ = 0, offset_bytes_ = 0;
  uint64_t length_bytes_ = 0, root_ = 0, rows_ = 0, direct_rows_ = 0;
  Blocks blocks_;
  std::map<uint64_t, std::vector<std::byte>> read_;
};

// III.A.2, of type 5: names of links, by their hashes.
class NameIndex {
 public:
  NameIndex(const Bytes& file, FractalHeap& heap, LinkList& links)
      : file_(file), heap_(heap), links_(links), blocks_(file, &links.budget()) {}

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
    check<DataLoss>(type == kLinkNames && record_size_ > 4 && node_size_ > kNodeOverhead &&
                        node_size_ <= kMostStructure && depth < 16,
                    "{} is damaged.", kIndex);
    measure(depth);
    if (records > 0) read_node(root, records, depth);
  }

 private:
  static constexpr uint8_t kLinkNames = 5;
  static constexpr uint64_t kNodeOverhead = 10;  // signature, version, type and checksum

  // How many bytes the numbers of records take, by depth of the node.
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
    for (uint64_t i = 0; i < records; ++i) {
      const auto record = cursor.take(record_size_);
      read_link(Cursor(heap_.object(record.subspan(4)), kLink), links_);
    }
    for (uint64_t i = 0; depth > 0 && i <= records; ++i) {
      const uint64_t child = cursor.u64();
      const uint64_t child_records = cursor.number(count_bytes_);
      cursor.skip(pointer - 8 - count_bytes_);
      read_node(child, child_records, depth - 1);
    }
  }

  const Bytes& file_;
  FractalHeap& heap_;
  LinkList& links_;
  Blocks blocks_;
  uint64_t node_size_ = 0, record_size_ = 0, count_bytes_ = 0;
  std::vector<uint64_t> total_bytes_;
};

// IV.A.2.c
void read_dense_links(const Bytes& file, const Message& info, LinkList& links) {
  Cursor cursor(info.data, kLink);
  cursor.version(0, 0);
  if (cursor.u8() & 1) cursor.skip(8);  // the largest creation order
  const uint64_t heap_address = cursor.u64();
  const uint64_t index_address = cursor.u64();
  if (heap_address == kUndefined) return;
  FractalHeap heap(file, heap_address, links.budget());
  NameIndex(file, heap, links).read(index_address);
}

}  // namespace

std::map<std::string, Link> read_links(const Bytes& file, const Object& group, Budget& budget) {
  LinkList links(file, budget);
  if (const Message* table = group.find(MessageType::SymbolTable)) {
    SymbolTable(file, links).read(*table);
    return links.take();
  }
  for (const Message& message : group.messages) {
    if (message.type == MessageType::Link) read_link(Cursor(message.data, kLink), links);
  }
  if (const Message* info = group.find(MessageType::LinkInfo)) {
    read_dense_links(file, *info, links);
  }
  return links.take();
}

}  // namespace cornu::hdf5
