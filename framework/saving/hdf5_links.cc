// SPDX-License-Identifier: Apache-2.0
// The links of a group: a symbol table (a B-tree over names in a heap) in files of HDF5's earliest
// format; otherwise messages in its header or, if there are many, in a fractal heap.
#include <algorithm>

#include "framework/core/error.h"
#include "framework/core/strings.h"
#include "framework/saving/hdf5_heap.h"
#include "framework/saving/hdf5_object.h"

namespace cornu::hdf5 {
namespace {

using Links = std::map<std::string, Link>;

constexpr std::string_view kTable = "a group's symbol table";
constexpr std::string_view kNames = "a group's names";
constexpr std::string_view kLink = "a group's link";

// Collects the links of a group. Names may overlap in the file, but their total size can't exceed
// it.
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

  // Reads no more than the name itself, because groups may share names.
  std::string name_at(uint64_t offset) const {
    for (uint64_t size = 64;; size *= 2) {
      check<DataLoss>(offset <= names_size_, "{} ends too early.", kNames);
      const uint64_t most = std::min(size, names_size_ - offset);
      const auto bytes = file_.block(names_ + offset, most, kNames);
      const bool whole = std::ranges::find(bytes, std::byte{0}) != bytes.end();
      if (whole || most < size) return Cursor(bytes, kNames).text_to_zero();
    }
  }

  // `level` is the expected level of the node; -1: any.
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
      cursor.skip(8);  // the boundary name
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
  uint64_t names_ = 0;  // address of the names
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

// IV.A.2.c
void read_dense_links(const Bytes& file, const Message& info, LinkList& links) {
  Cursor cursor(info.data, kLink);
  cursor.version(0, 0);
  if (cursor.u8() & 1) cursor.skip(8);  // maximum creation order
  const uint64_t heap_address = cursor.u64();
  const uint64_t index_address = cursor.u64();
  if (heap_address == kUndefined) return;
  FractalHeap heap(file, heap_address, links.budget());
  for_each_record(file, index_address, RecordType::LinkNames, &links.budget(),
                  [&](std::span<const std::byte> record) {
                    Cursor hashed(record, kLink);
                    hashed.skip(4);
                    const auto link = heap.object(hashed.take(hashed.left()));
                    read_link(Cursor(link, kLink), links);
                  });
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
