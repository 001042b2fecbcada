// SPDX-License-Identifier: Apache-2.0
// Functions of strings, for maps of datasets (tf.strings).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/element.h"

namespace cornu::data {

class LinkWriter;

// Of tensors of strings of any shape, element by element, with tf.strings' names and results. They
// run on the host: a map that calls one isn't traced, and travels to another process only where it
// is one of strings::functions (data/string_functions.h). Strings are bytes; functions with an
// encoding or unit look at them as UTF-8 where that says so. InvalidArgument, naming the function,
// for tensors of anything else. Thread-safe.
namespace strings {

struct SplitOptions {
  std::string sep = "";   // "": runs of white space, without empty parts at the ends
  int64_t maxsplit = -1;  // at most as many times; -1: every time
};
// The parts of each string, along a new last axis that is as long as the most parts; shorter rows
// are filled up with "". (tf.strings.split gives a ragged tensor of these.) Of a scalar: (parts).
Tensor split(const Tensor& input, const SplitOptions& options = {});
// The characters of each string of UTF-8, in the same form; what is no UTF-8 becomes U+FFFD.
// InvalidArgument for another encoding.
Tensor unicode_split(const Tensor& input, const std::string& input_encoding = "UTF-8");

// encoding: "" changes ASCII letters alone, "utf-8" all letters that have another case, one by one.
Tensor lower(const Tensor& input, const std::string& encoding = "");
Tensor upper(const Tensor& input, const std::string& encoding = "");
// Without white space at both ends.
Tensor strip(const Tensor& input);

// int32; unit: "BYTE" or "UTF8_CHAR".
Tensor length(const Tensor& input, const std::string& unit = "BYTE");

struct JoinOptions {
  std::string separator = "";
};
// One string of the inputs' elements at each place; scalars go to every place. InvalidArgument when
// other shapes differ.
Tensor join(const std::vector<Tensor>& inputs, const JoinOptions& options = {});
struct ReduceJoinOptions {
  std::optional<int64_t> axis = {};  // None: all axes
  bool keepdims = false;
  std::string separator = "";
};
// The elements along an axis as one string.
Tensor reduce_join(const Tensor& inputs, const ReduceJoinOptions& options = {});

// `len` characters (unit: "BYTE" or "UTF8_CHAR") from `pos` on, from the end where that is
// negative; fewer where the string ends. InvalidArgument, naming the string, when `pos` lies
// outside.
Tensor substr(const Tensor& input, int64_t pos, int64_t len, const std::string& unit = "BYTE");

// All that match `pattern` (RE2's syntax), or the first alone, replaced by `rewrite`, where \1 to
// \9 are the groups in parentheses. InvalidArgument, with RE2's reason, for a pattern or rewrite
// that is none.
Tensor regex_replace(const Tensor& input, const std::string& pattern, const std::string& rewrite,
                     bool replace_global = true);
// bool: does the whole of each string match?
Tensor regex_full_match(const Tensor& input, const std::string& pattern);

// float32, float64, int32 or int64. InvalidArgument, with the string, for what is no such number.
Tensor to_number(const Tensor& input, DTypeLike out_type = DType::Float32);

struct AsStringOptions {
  int64_t precision = -1;   // digits after the point of floating-point numbers; -1: six
  bool scientific = false;  // 1.5e+10
  bool shortest = false;    // as short as possible
  int64_t width = -1;       // at least as many characters
  std::string fill = "";    // of what the width adds before: " ", "0", "-" (behind) or "+"
};
// Numbers as text; "true" and "false" of bools. Strings stay as they are.
Tensor as_string(const Tensor& input, const AsStringOptions& options = {});

}  // namespace strings

// A file's bytes, string (). NotFound when there is none. Reference: tf.io.read_file.
Tensor read_file(const Tensor& filename);
Tensor read_file(const std::string& filename);

// Values by key. Reference: tf.lookup.StaticHashTable.
//
//   data::StaticHashTable table(Tensor::from({"cat", "dog"}), Tensor::from({0, 1}), -1);
//   auto dataset = names.map([=](const Tensor& name) { return table.lookup(name); });
//
// Keys are strings or int64 (int32 too); values any tensor of as many elements. Copying shares;
// thread-safe.
class StaticHashTable {
 public:
  // InvalidArgument when there are other numbers of keys than of values, a key comes twice with
  // different values, or the default isn't one value of the values' type (a number in C++ that this
  // type has).
  StaticHashTable(const Tensor& keys, const Tensor& values, const Tensor& default_value);
  int64_t size() const;
  // The value of each key, or the default, in the keys' shape.
  Tensor lookup(const Tensor& keys) const;
  // The same, for a map that is a table: it travels with its dataset.
  Tensor operator()(const Tensor& keys) const { return lookup(keys); }
  void write(LinkWriter& link) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace cornu::data
