// SPDX-License-Identifier: Apache-2.0
// The virtual machine that executes pickles, reduced to harmless instructions. Internal to the
// readers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/readers/pickle_document.h"

namespace cornu::data {

// Reads one pickle into a document (CPython's Lib/pickletools.py describes all instructions). Every
// instruction takes time and memory proportional to its length in the file, except for those that
// decode a text or reuse a value, whose total is limited.
class PickleParser {
 public:
  explicit PickleParser(PickleDocument& document) : document_(document) {}

  PickleItem parse();

 private:
  // Each handles its family of instructions, and returns false for others. In pickle_parser.cc.
  bool number(uint8_t op);
  bool text(uint8_t op);
  bool container(uint8_t op);
  bool stack(uint8_t op);
  bool memo(uint8_t op);
  bool object(uint8_t op);
  [[noreturn]] void refuse(uint8_t op) const;

  // Construct objects. In pickle_objects.cc.
  void push_global(std::string_view module, std::string_view name);
  PickleItem call(PickleGlobal global, const std::vector<PickleItem>& arguments);
  PickleItem make_type(const std::vector<PickleItem>& arguments);
  PickleItem make_array(const std::vector<PickleItem>& arguments);
  PickleItem make_array_of_buffer(const std::vector<PickleItem>& arguments);
  PickleItem make_scalar(const std::vector<PickleItem>& arguments);
  PickleItem encode(const std::vector<PickleItem>& arguments);
  void build(const PickleItem& object, const PickleItem& state);
  void build_type(NumpyType& type, const std::vector<PickleItem>& state);
  void build_array(PickledArray& array, std::span<const PickleItem> state);
  void set_elements(PickledArray& array, const PickleItem& elements);

  [[noreturn]] void damaged(std::string_view what) const;
  void require(bool ok, std::string_view what) const {
    if (!ok) [[unlikely]]
      damaged(what);
  }

  // Read from the file.
  std::string_view take(size_t count);
  uint64_t take_integer(size_t bytes);  // little-endian
  std::string_view take_line();

  // Stack operations; items below the last mark are inaccessible.
  void push(PickleItem item) { stack_.push_back(item); }
  PickleItem pop();
  PickleItem& top();
  std::vector<PickleItem> pop_marked();
  bool at_mark() const { return stack_.size() == (marks_.empty() ? 0 : marks_.back()); }

  void push_integer(int64_t value) { push(PickleItem::of_integer(PickleKind::Int, value)); }
  PickleItem text_item(PickleKind kind, std::string_view text);
  PickleItem decoded_item(PickleKind kind, std::string text);
  void check_decoding(size_t bytes) const;
  void push_list(PickleKind kind, std::vector<PickleItem> items);
  void push_long(std::string_view bytes);
  std::string_view text_of(const PickleItem& item) const { return document_.texts[item.index]; }
  std::vector<PickleItem>& list_of(const PickleItem& item, PickleKind kind, const char* what);
  std::vector<PickleItem> few(const PickleItem& tuple);  // the elements of a short tuple
  void remember(uint64_t index, const PickleItem& item);
  const PickleItem& recall(uint64_t index) const;

  struct Memo {
    bool used = false;
    PickleItem item;
  };

  PickleDocument& document_;
  size_t at_ = 0;           // offset in the file
  size_t instruction_ = 0;  // offset of the current instruction
  size_t decoded_ = 0;      // total bytes of decoded texts
  std::vector<PickleItem> stack_;
  std::vector<size_t> marks_;  // stack sizes
  std::vector<Memo> memo_;
  size_t remembered_ = 0;  // number of used entries of memo_
};

// Convert texts of protocol 0 to UTF-8: with Python's escapes, and with \u escapes
// ("raw-unicode-escape"). Return nullopt for an invalid escape.
std::optional<std::string> unescaped(std::string_view text);
std::optional<std::string> unescaped_unicode(std::string_view text);
// Converts UTF-8 to Latin-1; nullopt when a character isn't representable.
std::optional<std::string> utf8_to_latin1(std::string_view text);

}  // namespace cornu::data
