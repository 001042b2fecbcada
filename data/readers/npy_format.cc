// SPDX-License-Identifier: Apache-2.0
#include "data/readers/npy_format.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "framework/core/strings.h"

namespace cornu::data {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kAlignment = 64;    // of the elements, in files written by NumPy
constexpr size_t kMaxAxes = 64;      // NumPy's limit
constexpr size_t kGrowingAxis = 21;  // digits that NumPy reserves so that files can grow

std::string_view text_in(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Parses a Python dictionary literal: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
class HeaderParser {
 public:
  // `offset`: the position of `text` in the file.
  HeaderParser(std::string_view text, size_t offset, int version, const std::string& name)
      : text_(text), offset_(offset), version_(version), name_(name) {}

  NpyHeader parse() {
    NpyHeader header;
    bool has_type = false;
    bool has_order = false;
    bool has_shape = false;
    expect('{', "a dictionary");
    while (!accept('}')) {
      const std::string_view key = quoted("one of the keys 'descr', 'fortran_order', 'shape'");
      expect(':', "':'");
      if (key == "descr" && !has_type) {
        header.type = type();
        has_type = true;
      } else if (key == "fortran_order" && !has_order) {
        header.fortran_order = boolean();
        has_order = true;
      } else if (key == "shape" && !has_shape) {
        header.shape = shape();
        has_shape = true;
      } else {
        fail(fmt::format("the keys 'descr', 'fortran_order' and 'shape', once each, got '{}'",
                         printable(key, 20)));
      }
      if (accept(',')) continue;
      expect('}', "',' or '}'");
      break;
    }
    skip_spaces();
    if (at_ < text_.size()) fail("nothing after the dictionary");
    if (!has_type || !has_order || !has_shape) {
      fail("the keys 'descr', 'fortran_order' and 'shape'");
    }
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& expected) const {
    raise<DataLoss>("{}: the .npy header is damaged: at byte {}, expected {}.", name_,
                    offset_ + at_, expected);
  }

  void skip_spaces() {
    constexpr std::string_view kSpaces = " \t\r\n\f";
    while (at_ < text_.size() && kSpaces.find(text_[at_]) != kSpaces.npos) ++at_;
  }

  bool accept(char wanted) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  void expect(char wanted, const char* what) {
    if (!accept(wanted)) fail(what);
  }

  bool accept_word(std::string_view word) {
    skip_spaces();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  std::string_view quoted(const char* what) {
    skip_spaces();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') fail(what);
    const size_t end = text_.find(quote, at_ + 1);
    if (end == text_.npos) fail("the end of a text");
    const std::string_view result = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return result;
  }

  NumpyType type() {
    skip_spaces();
    check<Unimplemented>(at_ == text_.size() || (text_[at_] != '[' && text_[at_] != '('),
                         "{}: an array of structures (dtype {}) can't be a tensor. Save its fields "
                         "one by one, for example with numpy.savez.",
                         name_, printable(text_.substr(at_, text_.find(']', at_) + 1 - at_)));
    const std::string_view text = quoted("a dtype such as '<f4'");
    const auto type = parse_numpy_type(text);
    if (!type) fail(fmt::format("a dtype such as '<f4', got '{}'", printable(text, 20)));
    return *type;
  }

  bool boolean() {
    if (accept_word("True")) return true;
    if (!accept_word("False")) fail("True or False");
    return false;
  }

  Shape shape() {
    Shape result;
    expect('(', "a tuple of sizes");
    while (!accept(')')) {
      skip_spaces();
      int64_t size = 0;
      const char* begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0 || *begin == '-') fail("a size of 0 to 2^63 - 1");
      at_ += static_cast<size_t>(end - begin);
      // Python 2's syntax for long integers.
      if (version_ < 3 && at_ < text_.size() && text_[at_] == 'L') ++at_;
      result.push_back(size);
      check<DataLoss>(result.dims().size() <= kMaxAxes, "{}: expected at most {} axes, got more.",
                      name_, kMaxAxes);
      if (accept(',')) continue;
      if (result.rank() == 1) fail("',' after the only size");  // (3) isn't a tuple
      expect(')', "',' or ')'");
      break;
    }
    return result;
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t offset_;
  int version_;
  const std::string& name_;
};

}  // namespace

NpyHeader parse_npy_header(std::span<const std::byte> file, const std::string& name) {
  const std::string_view text = text_in(file);
  const size_t same = static_cast<size_t>(
      std::mismatch(kMagic.begin(), kMagic.begin() + std::min(kMagic.size(), text.size()),
                    text.begin())
          .first -
      kMagic.begin());
  check<DataLoss>(same == std::min(kMagic.size(), text.size()),
                  "{}: not a .npy file: at byte {}, expected \\x93NUMPY.", name, same);
  const auto cut_off = [&](size_t needed) {
    check<DataLoss>(file.size() >= needed,
                    "{}: truncated at byte {}: the .npy header has {} bytes. Download or create "
                    "the file again.",
                    name, file.size(), needed);
  };
  cut_off(kMagic.size() + 2);
  const int major = std::to_integer<int>(file[kMagic.size()]);
  const int minor = std::to_integer<int>(file[kMagic.size() + 1]);
  check<Unimplemented>(major >= 1 && major <= 3 && minor == 0,
                       "{}: expected .npy version 1.0, 2.0 or 3.0, got {}.{}.", name, major, minor);
  const size_t length_bytes = major == 1 ? 2 : 4;
  const size_t begin = kMagic.size() + 2 + length_bytes;
  cut_off(begin);
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) {
    length |= std::to_integer<size_t>(file[kMagic.size() + 2 + i]) << (8 * i);
  }
  cut_off(begin + length);
  NpyHeader header = HeaderParser(text.substr(begin, length), begin, major, name).parse();
  header.bytes = begin + length;
  return header;
}

std::string npy_header(DType dtype, const Shape& shape) {
  check<InvalidArgument>(dtype != DType::String,
                         "NumPy's files: expected a tensor of numbers, got one of strings.");
  std::string sizes;
  for (const int64_t size : shape) sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", size);
  if (shape.rank() == 1) sizes += ',';
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                 numpy_type_of(dtype).to_string(), sizes);
  if (!shape.empty()) text += std::string(kGrowingAxis - fmt::formatted_size("{}", shape[0]), ' ');
  // A header whose length doesn't fit into version 1.0's two bytes would have thousands of axes.
  const size_t before = kMagic.size() + 4;
  const size_t unpadded = before + text.size() + 1;
  text += std::string((kAlignment - unpadded % kAlignment) % kAlignment, ' ') + '\n';
  std::string result(kMagic);
  result +=
      {'\1', '\0', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return result + text;
}

}  // namespace cornu::data
