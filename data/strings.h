// SPDX-License-Identifier: Apache-2.0
// String functions for use in dataset maps (tf.strings).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/element.h"

namespace cornu::data {

class LinkWriter;

// These work elementwise on string tensors of any shape, with tf.strings' names and results. They
// run on the host: a map that calls one isn't traced, and can be sent to another process only if
// the map function itself is one of strings::functions (data/string_functions.h). Strings are
// bytes; functions with an encoding or unit parameter treat them as UTF-8 if it says so. Throw
// InvalidArgument, naming the function, for tensors that aren't strings. Thread-safe.
namespace strings {

struct SplitOptions {
  std::string sep = "";   // "" splits at runs of white space, without empty parts at the ends
  int64_t maxsplit = -1;  // maximum number of splits; -1: no limit
};
// Splits each string into parts along a new last axis, whose length is the largest number of parts;
// shorter rows are padded with "". (tf.strings.split returns a ragged tensor of the parts.) A
// scalar becomes (parts).
Tensor split(const Tensor& input, const SplitOptions& options = {});
// The characters of each UTF-8 string, in the same layout; invalid UTF-8 becomes U+FFFD. Throws
// InvalidArgument for another encoding.
Tensor unicode_split(const Tensor& input, const std::string& input_encoding = "UTF-8");

// encoding: "" changes only ASCII letters, "utf-8" all letters that have another case, one by one.
Tensor lower(const Tensor& input, const std::string& encoding = "");
Tensor upper(const Tensor& input, const std::string& encoding = "");
// Strips white space from both ends.
Tensor strip(const Tensor& input);

// int32; unit: "BYTE" or "UTF8_CHAR".
Tensor length(const Tensor& input, const std::string& unit = "BYTE");

struct JoinOptions {
  std::string separator = "";
};
// Concatenates the inputs' elements at each position; scalars are broadcast. Throws InvalidArgument
// when the shapes of the others differ.
Tensor join(const std::vector<Tensor>& inputs, const JoinOptions& options = {});
struct ReduceJoinOptions {
  std::optional<int64_t> axis = {};  // nullopt: all axes
  bool keepdims = false;
  std::string separator = "";
};
// Concatenates the elements along an axis.
Tensor reduce_join(const Tensor& inputs, const ReduceJoinOptions& options = {});

// `len` characters (unit: "BYTE" or "UTF8_CHAR") starting at `pos`, which counts from the end if
// negative; fewer if the string ends before. Throws InvalidArgument, naming the string, when `pos`
// is out of range.
Tensor substr(const Tensor& input, int64_t pos, int64_t len, const std::string& unit = "BYTE");

// Replaces all matches of `pattern` (RE2's syntax), or only the first one, by `rewrite`, in which
// \1 to \9 are the parenthesized groups. Throws InvalidArgument, with RE2's reason, for an invalid
// pattern or rewrite.
Tensor regex_replace(const Tensor& input, const std::string& pattern, const std::string& rewrite,
                     bool replace_global = true);
// Returns bool: whether each string matches as a whole.
Tensor regex_full_match(const Tensor& input, const std::string& pattern);

// float32, float64, int32 or int64. Throws InvalidArgument, with the string, if it isn't a number
// of that type.
Tensor to_number(const Tensor& input, DTypeLike out_type = DType::Float32);

struct AsStringOptions {
  int64_t precision = -1;   // digits after the decimal point of floating-point numbers; -1: six
  bool scientific = false;  // 1.5e+10
  bool shortest = false;    // the shortest representation
  int64_t width = -1;       // minimum number of characters
  std::string fill = "";    // a printf flag: " ", "0", "-" (left-aligned) or "+"
};
// Converts numbers to strings, bools to "true" and "false". Strings stay as they are.
Tensor as_string(const Tensor& input, const AsStringOptions& options = {});

}  // namespace strings

// The contents of a file, string (). Throws NotFound when it doesn't exist. Reference:
// tf.io.read_file.
Tensor read_file(const Tensor& filename);
Tensor read_file(const std::string& filename);

// A lookup table. Reference: tf.lookup.StaticHashTable.
//
//   data::StaticHashTable table(Tensor::from({"cat", "dog"}), Tensor::from({0, 1}), -1);
//   auto dataset = names.map([=](const Tensor& name) { return table.lookup(name); });
//
// Keys are strings or int64 (int32 works, too); values are a tensor with as many elements. Copies
// share the table; thread-safe.
class StaticHashTable {
 public:
  // Throws InvalidArgument when the numbers of keys and values differ, when a key occurs twice with
  // different values, or when the default isn't a single value of the values' type (a C++ number
  // that is representable in it).
  StaticHashTable(const Tensor& keys, const Tensor& values, const Tensor& default_value);
  int64_t size() const;
  // Returns the value of each key, or the default, in the shape of `keys`.
  Tensor lookup(const Tensor& keys) const;
  // Lets a table be used as a map function, which is then serializable with its dataset.
  Tensor operator()(const Tensor& keys) const { return lookup(keys); }
  void write(LinkWriter& link) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace cornu::data
