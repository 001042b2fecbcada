// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/string_ops.h"

#include <string>
#include <string_view>
#include <unordered_map>

#include "framework/graph/dispatch.h"

namespace cornu {
namespace {

// Gives equal strings the same number.
class Numbering {
 public:
  Tensor of(const Tensor& strings) {
    Tensor numbers = Tensor::empty(strings.shape(), DType::Int64);
    auto place = numbers.mutable_data<int64_t>().begin();
    for (const std::string& text : strings.data<std::string>()) {
      *place++ = numbers_.emplace(text, std::ssize(numbers_)).first->second;
    }
    return numbers;
  }

 private:
  std::unordered_map<std::string_view, int64_t> numbers_;
};

// Gives each string its position among the strings of all tensors.
class Places {
 public:
  Tensor of(const Tensor& strings) {
    Tensor places = Tensor::empty(strings.shape(), DType::Int64);
    auto place = places.mutable_data<int64_t>().begin();
    for (const std::string& text : strings.data<std::string>()) {
      *place++ = std::ssize(texts_);
      texts_.push_back(&text);
    }
    return places;
  }

  Tensor strings_at(const Tensor& places, const OpDef& op) const {
    Tensor strings = Tensor::empty(places.shape(), DType::String);
    auto to = strings.mutable_data<std::string>().begin();
    for (const int64_t place : places.data<int64_t>()) {
      check<OutOfRange>(place >= 0 && place < std::ssize(texts_),
                        "{}: an index is outside of the strings.", op.name);
      *to++ = *texts_[static_cast<size_t>(place)];
    }
    return strings;
  }

 private:
  std::vector<const std::string*> texts_;
};

}  // namespace

std::vector<Tensor> apply_to_strings(const OpDef& op, const std::vector<Tensor>& inputs,
                                     const Attributes& attributes) {
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) types.push_back(type_of(input));
  const std::vector<TensorType> outputs = op.infer(types, attributes);
  Numbering numbering;
  Places places;
  std::vector<Tensor> numbers;
  for (const Tensor& input : inputs) {
    const bool is_text = input.dtype() == DType::String;
    const bool compared = op.traits.strings == OpTraits::Strings::Compared;
    numbers.push_back(!is_text ? input : compared ? numbering.of(input) : places.of(input));
  }
  const DeviceScope host(Device{});
  const StopRecordingScope not_recorded;
  std::vector<Tensor> results = apply(op, numbers, attributes);
  for (size_t i = 0; i < results.size(); ++i) {
    results[i] = results[i].host();
    if (outputs[i].dtype == DType::String) results[i] = places.strings_at(results[i], op);
  }
  return results;
}

}  // namespace cornu
