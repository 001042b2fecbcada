// SPDX-License-Identifier: Apache-2.0
// Pickles: Python's serialized values (protocols 0 to 5), read as data. Nothing is executed.
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
  Bytes,  // bytes and bytearray, and the plain strings of Python 2
  Str,    // UTF-8, as it is in the file
  List,
  Tuple,
  Dict,
  Array,   // numpy.ndarray
  DType,   // numpy.dtype
  Global,  // the name of something that a pickle may call, but hasn't
};
const char* to_string(PickleKind kind);

// A value, or where it is. Internal.
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

// A value of a pickle that has been read: a cheap handle, which keeps all of the pickle. Values
// that a pickle refers to several times, even from within themselves, are there once, so that only
// who walks over everything must take care not to walk forever. Functions of another kind's values
// throw InvalidArgument, which says what is there. Thread-safe.
class PickleValue {
 public:
  PickleValue(std::shared_ptr<const PickleDocument> document, PickleItem item)
      : document_(std::move(document)), item_(item) {}

  PickleKind kind() const { return item_.kind; }
  bool is_none() const { return item_.kind == PickleKind::None; }

  bool as_bool() const;
  int64_t as_int() const;             // a bool counts
  double as_float() const;            // an integer counts
  std::string_view as_bytes() const;  // valid as long as this or another value of the pickle
  std::string_view as_str() const;    // Bytes count, as names in Python 2's pickles are

  // Elements of a list, a tuple or an array of Python objects (in its own order); entries of a
  // dictionary.
  size_t size() const;
  PickleValue operator[](size_t index) const;  // not of a dictionary; OutOfRange
  // A dictionary's keys and values, in the file's order; of equal keys the last one counts.
  std::pair<PickleValue, PickleValue> entry(size_t index) const;
  // By a key that is a string or bytes. NotFound, with what there is, and nothing.
  PickleValue at(std::string_view key) const;
  std::optional<PickleValue> find(std::string_view key) const;

  // An array of numbers, with NumPy's types as in load_npy (npy.h). It may share the pickle's
  // memory.
  Tensor to_tensor() const;
  // A list or tuple of integers, or an array of them of one axis.
  std::vector<int64_t> to_ints() const;
  // A list, tuple or array of what to_ints reads. ResourceExhausted when a small file refers to
  // the same long list again and again.
  std::vector<std::vector<int64_t>> to_ragged() const;

 private:
  const std::vector<PickleItem>& elements(const char* wanted) const;
  void append_ints(std::vector<int64_t>& out, size_t& budget) const;
  [[noreturn]] void raise_kind(const char* wanted) const;

  std::shared_ptr<const PickleDocument> document_;
  PickleItem item_;
};

// Reads the pickle in a file. What follows its end is left alone, as in Python.
//
// Callables are only recognized, as data: numpy.ndarray, numpy.dtype, numpy.core.multiarray's
// _reconstruct and scalar, numpy.core.numeric's _frombuffer (both also under numpy._core),
// _codecs.encode to latin1, and bytes(). Anything else that a pickle names is InvalidArgument, with
// the name: such a file wants to run code. So are persistent ids, extension codes, sets and
// classes. NotFound when there is no such file. DataLoss, with the byte offset, for what isn't a
// pickle; Unimplemented for integers of more than 64 bits and arrays of several fields. Time and
// memory are proportional to the file's size, whatever it holds.
PickleValue load_pickle(const std::filesystem::path& path);

// The same from memory. `name` is for messages; `owner` keeps `file` alive, null if the caller
// does, as long as there are values of it.
PickleValue parse_pickle(std::span<const std::byte> file, const std::string& name,
                         std::shared_ptr<const void> owner = nullptr);

}  // namespace cornu::data
