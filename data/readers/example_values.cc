// SPDX-License-Identifier: Apache-2.0
#include "data/readers/example_values.h"

#include <algorithm>
#include <cstring>

namespace cornu::data {

using wire::Reader;
using wire::Type;

FeatureValues values_of_feature(std::string_view feature) {
  FeatureValues values;
  Reader reader(feature);
  while (!reader.done()) {
    Type type;
    const uint32_t field = reader.field(type);
    if (type != Type::Bytes || field < 1 || field > 3) {
      reader.skip(type);
      continue;
    }
    values = {true,
              field == 1   ? DType::String
              : field == 2 ? DType::Float32
                           : DType::Int64,
              reader.bytes()};
  }
  return values;
}

template <class T>
void ValueSink<T>::add_all(const char* bytes, size_t count) {
  T* to = places_ + std::min(count_, room_);
  if (list_) {
    list_->resize(list_->size() + count);
    to = list_->data() + list_->size() - count;
  }
  const size_t fits = list_ ? count : std::min(count, room_ - std::min(count_, room_));
  if (fits > 0) std::memcpy(to, bytes, fits * sizeof(T));
  count_ += count;
}

void read_values(std::string_view list, ValueSink<int64_t>& sink) {
  Reader reader(list);
  while (!reader.done()) {
    Type type;
    const uint32_t field = reader.field(type);
    if (field == 1 && type == Type::Bytes) {
      Reader packed(reader.bytes());
      while (!packed.done()) sink.add(static_cast<int64_t>(packed.varint()));
    } else if (field == 1 && type == Type::Varint) {
      sink.add(static_cast<int64_t>(reader.varint()));
    } else {
      reader.skip(type);
    }
  }
}

void read_values(std::string_view list, ValueSink<float>& sink) {
  Reader reader(list);
  while (!reader.done()) {
    Type type;
    const uint32_t field = reader.field(type);
    if (field == 1 && type == Type::Bytes) {
      const std::string_view packed = reader.bytes();
      if (packed.size() % sizeof(float) != 0) throw wire::Damage{"a cut-off number", packed.data()};
      sink.add_all(packed.data(), packed.size() / sizeof(float));
    } else if (field == 1 && type == Type::Fixed32) {
      sink.add(reader.fixed<float>());
    } else {
      reader.skip(type);
    }
  }
}

void read_values(std::string_view list, ValueSink<std::string>& sink) {
  Reader reader(list);
  while (!reader.done()) {
    Type type;
    if (reader.field(type) == 1 && type == Type::Bytes) {
      sink.add(std::string(reader.bytes()));
    } else {
      reader.skip(type);
    }
  }
}

}  // namespace cornu::data
