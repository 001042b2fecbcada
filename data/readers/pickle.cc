// SPDX-License-Identifier: Apache-2.0
#include "data/readers/pickle.h"

#include "data/readers/pickle_document.h"
#include "framework/core/strings.h"

namespace cornu::data {
namespace {

// The maximum number of integers in lists per byte of the file, counting shared ones repeatedly.
constexpr size_t kMaxSharing = 16;

std::string_view text_of_item(const PickleDocument& document, const PickleItem& item) {
  return document.texts[item.index];
}

bool is_text(PickleKind kind) { return kind == PickleKind::Bytes || kind == PickleKind::Str; }

}  // namespace

const char* to_string(PickleKind kind) {
  constexpr std::array kNames = {"None",   "a bool",        "an int",        "a float",
                                 "bytes",  "a str",         "a list",        "a tuple",
                                 "a dict", "a NumPy array", "a NumPy dtype", "a function's name"};
  return kNames[static_cast<size_t>(kind)];
}

void PickleValue::raise_kind(const char* wanted) const {
  raise<InvalidArgument>("{}: expected {}, got {}.", document_->name, wanted, to_string(kind()));
}

bool PickleValue::as_bool() const {
  if (kind() != PickleKind::Bool) raise_kind("a bool");
  return item_.integer != 0;
}

int64_t PickleValue::as_int() const {
  if (kind() != PickleKind::Int && kind() != PickleKind::Bool) raise_kind("an int");
  return item_.integer;
}

double PickleValue::as_float() const {
  if (kind() == PickleKind::Int) return static_cast<double>(item_.integer);
  if (kind() != PickleKind::Float) raise_kind("a float");
  return item_.number;
}

std::string_view PickleValue::as_bytes() const {
  if (kind() != PickleKind::Bytes) raise_kind("bytes");
  return text_of_item(*document_, item_);
}

std::string_view PickleValue::as_str() const {
  if (!is_text(kind())) raise_kind("a str");
  return text_of_item(*document_, item_);
}

const std::vector<PickleItem>& PickleValue::elements(const char* wanted) const {
  if (kind() == PickleKind::List || kind() == PickleKind::Tuple) {
    return document_->lists[item_.index];
  }
  if (kind() != PickleKind::Array) raise_kind(wanted);
  const PickledArray& array = document_->arrays[item_.index];
  if (!array.complete || array.elements.kind != PickleKind::List) {
    raise<InvalidArgument>("{}: expected {}, got an array of NumPy's type '{}'.", document_->name,
                           wanted, array.type.to_string());
  }
  const auto& list = document_->lists[array.elements.index];
  const Shape shape = pickled_shape(*document_, array);
  check<DataLoss>(array_bytes({.size = 1}, shape) == list.size(),
                  "{}: an array of shape {} has {} elements.", document_->name, shape, list.size());
  return list;
}

size_t PickleValue::size() const {
  if (kind() == PickleKind::Dict) return document_->lists[item_.index].size() / 2;
  return elements("a list, a tuple, a dict or an array of objects").size();
}

PickleValue PickleValue::operator[](size_t index) const {
  const auto& items = elements("a list, a tuple or an array of objects");
  check<OutOfRange>(index < items.size(), "{}: expected an element below {}, got [{}].",
                    document_->name, items.size(), index);
  return PickleValue(document_, items[index]);
}

std::pair<PickleValue, PickleValue> PickleValue::entry(size_t index) const {
  if (kind() != PickleKind::Dict) raise_kind("a dict");
  const auto& items = document_->lists[item_.index];
  check<OutOfRange>(index < items.size() / 2, "{}: expected an entry below {}, got {}.",
                    document_->name, items.size() / 2, index);
  return {PickleValue(document_, items[2 * index]), PickleValue(document_, items[2 * index + 1])};
}

std::optional<PickleValue> PickleValue::find(std::string_view key) const {
  if (kind() != PickleKind::Dict) raise_kind("a dict");
  const auto& items = document_->lists[item_.index];
  for (size_t i = items.size(); i >= 2; i -= 2) {
    const PickleItem& name = items[i - 2];
    if (is_text(name.kind) && text_of_item(*document_, name) == key) {
      return PickleValue(document_, items[i - 1]);
    }
  }
  return std::nullopt;
}

PickleValue PickleValue::at(std::string_view key) const {
  if (auto value = find(key)) return *value;
  std::vector<std::string> known;
  for (size_t i = 0; i < size() && known.size() < 100; ++i) {
    const PickleValue name = entry(i).first;
    if (is_text(name.kind())) known.emplace_back(name.as_str().substr(0, 100));
  }
  raise<NotFound>("{}: there is no '{}'.{}", document_->name, printable(key),
                  did_you_mean(key, known));
}

Tensor PickleValue::to_tensor() const {
  if (kind() != PickleKind::Array) raise_kind("a NumPy array");
  const PickledArray& array = document_->arrays[item_.index];
  check<DataLoss>(array.complete, "{}: an array without its elements.", document_->name);
  const bool bytes = array.elements.kind == PickleKind::Bytes;
  check<InvalidArgument>(bytes, "{}: an array of Python objects can't be a tensor.",
                         document_->name);
  check<Unimplemented>(array.type.dtype().has_value(),
                       "{}: elements of NumPy's type '{}' can't be in a tensor.", document_->name,
                       array.type.to_string());
  const Shape shape = pickled_shape(*document_, array);
  const std::string_view stored = text_of_item(*document_, array.elements);
  check<DataLoss>(array_bytes(array.type, shape) == stored.size(),
                  "{}: an array of shape {} and type '{}' has {} bytes.", document_->name, shape,
                  array.type.to_string(), stored.size());
  return array_from_bytes(array.type, shape, array.fortran_order,
                          std::as_bytes(std::span(stored.data(), stored.size())), document_);
}

void PickleValue::append_ints(std::vector<int64_t>& out, size_t& budget) const {
  const auto spend = [&](size_t count) {
    check<ResourceExhausted>(count <= budget,
                             "{}: lists are referred to so often that they have more than {} times "
                             "as many integers as the pickle has bytes.",
                             document_->name, kMaxSharing);
    budget -= count;
  };
  const bool numbers = kind() == PickleKind::Array &&
                       document_->arrays[item_.index].elements.kind == PickleKind::Bytes;
  if (!numbers) {
    const auto& items = elements("integers in a list, a tuple or an array");
    spend(items.size() + 1);
    for (const PickleItem& item : items) {
      if (item.kind != PickleKind::Int) PickleValue(document_, item).raise_kind("an int");
      out.push_back(item.integer);
    }
    return;
  }
  spend(text_of_item(*document_, document_->arrays[item_.index].elements).size() + 1);
  const Tensor tensor = to_tensor();
  check<InvalidArgument>(tensor.rank() == 1 && is_integer(tensor.dtype()),
                         "{}: expected an array of integers of one axis, got {} of shape {}.",
                         document_->name, tensor.dtype(), tensor.shape());
  dispatch_dtype(tensor.dtype(), [&](auto zero) {
    for (const auto value : tensor.data<decltype(zero)>()) {
      out.push_back(static_cast<int64_t>(value));
    }
  });
}

std::vector<int64_t> PickleValue::to_ints() const {
  size_t budget = kMaxSharing * document_->file.size();
  std::vector<int64_t> result;
  append_ints(result, budget);
  return result;
}

std::vector<std::vector<int64_t>> PickleValue::to_ragged() const {
  size_t budget = kMaxSharing * document_->file.size();
  const auto& items = elements("lists of integers");
  std::vector<std::vector<int64_t>> result(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    PickleValue(document_, items[i]).append_ints(result[i], budget);
  }
  return result;
}

Shape pickled_shape(const PickleDocument& document, const PickledArray& array) {
  constexpr size_t kMaxAxes = 64;  // NumPy's limit
  const auto& sizes = document.lists[array.shape];
  check<DataLoss>(sizes.size() <= kMaxAxes, "{}: expected an array of at most {} axes, got {}.",
                  document.name, kMaxAxes, sizes.size());
  Shape shape;
  for (const PickleItem& size : sizes) {
    check<DataLoss>(size.kind == PickleKind::Int && size.integer >= 0,
                    "{}: the shape of an array must be integers, of at least 0.", document.name);
    shape.push_back(size.integer);
  }
  return shape;
}

}  // namespace cornu::data
