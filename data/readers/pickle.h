// SPDX-License-Identifier: Apache-2.0
// Reads pickles, Python's serialized values (protocols 0 to 5), as data. Nothing is executed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::data {

struct PickleDocument;

enum class PickleKind : uint8_t {
  None,
  Bool,
  Int,
  Float,
  Bytes,  // bytes and bytearray, and the byte strings of Python 2
  Str,    // UTF-8, as stored in the file
  List,
  Tuple,
  Dict,
  Array,   // numpy.ndarray
  DType,   // numpy.dtype
  Global,  // the name of a callable that hasn't been called
};
const char* to_string(PickleKind kind);

// A value, or its index in a table. Internal.
struct PickleItem {
  PickleKind kind = PickleKind::None;
  union {
    int64_t integer = 0;
    double number;
    size_t index;  // into one of the document's tables
  };

  static PickleItem of_integer(PickleKind kind, int64_t value) {
    PickleItem item;
    item.kind = kind;
    item.integer = value;
    return item;
  }
  static PickleItem of_number(double value) {
    PickleItem item;
    item.kind = PickleKind::Float;
    item.number = value;
    return item;
  }
  static PickleItem of_index(PickleKind kind, size_t index) {
    PickleItem item;
    item.kind = kind;
    item.index = index;
    return item;
  }
};

// A value in a pickle: a cheap handle that keeps the whole pickle alive. Values that are referenced
// several times, even from within themselves, exist once, so code that traverses everything must
// guard against cycles. Accessors for another kind throw InvalidArgument, which names the actual
// kind. Thread-safe.
class PickleValue {
 public:
  PickleValue(std::shared_ptr<const PickleDocument> document, PickleItem item)
      : document_(std::move(document)), item_(item) {}

  PickleKind kind() const { return item_.kind; }
  bool is_none() const { return item_.kind == PickleKind::None; }

  bool as_bool() const;
  int64_t as_int() const;             // also accepts a bool
  double as_float() const;            // also accepts an integer
  std::string_view as_bytes() const;  // valid as long as any value of the pickle
  std::string_view as_str() const;    // also accepts Bytes, as used for names in Python 2's pickles

  // The number of elements of a list, a tuple or an array of Python objects (in its own memory
  // order), or of entries of a dictionary.
  size_t size() const;
  PickleValue operator[](size_t index) const;  // not for dictionaries; throws OutOfRange
  // A dictionary's key and value, in the file's order; the last of equal keys wins.
  std::pair<PickleValue, PickleValue> entry(size_t index) const;
  // Looks up a key that is a string or bytes. at() throws NotFound, listing the keys; find()
  // returns nullopt.
  PickleValue at(std::string_view key) const;
  std::optional<PickleValue> find(std::string_view key) const;

  // An array of numbers, with NumPy's types converted as in load_npy (npy.h). May share the
  // pickle's memory.
  Tensor to_tensor() const;
  // Converts a list or tuple of integers, or a one-dimensional array of them.
  std::vector<int64_t> to_ints() const;
  // Converts a list, tuple or array of values that to_ints accepts. Throws ResourceExhausted when a
  // small file refers to the same long list again and again.
  std::vector<std::vector<int64_t>> to_ragged() const;

 private:
  const std::vector<PickleItem>& elements(const char* wanted) const;
  void append_ints(std::vector<int64_t>& out, size_t& budget) const;
  [[noreturn]] void raise_kind(const char* wanted) const;

  std::shared_ptr<const PickleDocument> document_;
  PickleItem item_;
};

// Reads the pickle in a file. Like Python, ignores any data after its end.
//
// Callables are only recognized as data: numpy.ndarray, numpy.dtype, numpy.core.multiarray's
// _reconstruct and scalar, numpy.core.numeric's _frombuffer (both also under numpy._core),
// _codecs.encode to latin1, and bytes(). Any other global throws InvalidArgument with its name:
// such a file wants to run code. The same holds for persistent ids, extension codes, sets and
// classes. Throws NotFound when the file doesn't exist; DataLoss, with the byte offset, when it
// isn't a pickle; Unimplemented for integers of more than 64 bits and structured arrays. Time and
// memory are proportional to the file's size, whatever it contains.
PickleValue load_pickle(const std::filesystem::path& path);

// Reads a pickle from memory. `name` is for messages; `owner` keeps `file` alive as long as there
// are values of the pickle, null if the caller does.
PickleValue parse_pickle(std::span<const std::byte> file, const std::string& name,
                         std::shared_ptr<const void> owner = nullptr);

}  // namespace cornu::data
