// SPDX-License-Identifier: Apache-2.0
// Reads the values of a tf.train.Feature.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/core/dtype.h"
#include "framework/core/proto_wire.h"

namespace cornu::data {

// The type of a feature's values, and the bytes of the list. The dtype is String if there are none;
// see `set`.
struct FeatureValues {
  bool set = false;
  DType dtype = DType::String;
  std::string_view list;
};
// Throws wire::Damage, like all functions here.
FeatureValues values_of_feature(std::string_view feature);

// The destination of values: fills as many places as there are (but counts all values), or appends
// to a list.
template <class T>
class ValueSink {
 public:
  ValueSink(T* places, size_t room) : places_(places), room_(room) {}
  explicit ValueSink(std::vector<T>& list) : list_(&list) {}

  void add(T value) {
    if (list_) {
      list_->push_back(std::move(value));
    } else if (count_ < room_) {
      places_[count_] = std::move(value);
    }
    ++count_;
  }
  // Adds numbers in their in-memory representation.
  void add_all(const char* bytes, size_t count);
  size_t count() const { return count_; }

 private:
  T* places_ = nullptr;
  size_t room_ = 0;
  std::vector<T>* list_ = nullptr;
  size_t count_ = 0;
};

void read_values(std::string_view list, ValueSink<int64_t>& sink);
void read_values(std::string_view list, ValueSink<float>& sink);
void read_values(std::string_view list, ValueSink<std::string>& sink);

}  // namespace cornu::data
