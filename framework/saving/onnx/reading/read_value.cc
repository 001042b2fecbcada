// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/onnx/reading/read_value.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "framework/model/input.h"

namespace cornu::onnx::reading {
bool is_same_value(const Tensor& a, const Tensor& b) {
  if (a.id() == b.id()) return true;
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  return a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

ReadValue::ReadValue(const Tensor& tensor) {
  if (is_placeholder(tensor)) {
    placeholder = tensor;
  } else {
    known.fill(tensor.strong());
  }
}

ReadValue::ReadValue(std::array<Tensor, kTraces> values) {
  const bool same = is_same_value(values[0], values[1]) && is_same_value(values[0], values[2]);
  if (same) {
    known.fill(values[0]);
  } else {
    known = std::move(values);
  }
}

Size ReadValue::number(int64_t place) const {
  Size result;
  for (size_t i = 0; i < kTraces; ++i) {
    const Tensor& values = known[i];
    dispatch_dtype(values.dtype(), [&](auto element) {
      using T = decltype(element);
      result.by_trace[i] = static_cast<int64_t>(values.data<T>()[static_cast<size_t>(place)]);
    });
  }
  return result;
}

Sizes sizes_of(const ReadValue& value) {
  const Tensor& first = value.known[0];
  bool fits = true;
  for (const Tensor& numbers : value.known) {
    fits = fits && is_integer(numbers.dtype()) && numbers.shape() == first.shape();
  }
  check<InvalidArgument>(fits && first.rank() <= 1,
                         "expected a vector of integers for its sizes or places, got {} {}.",
                         first.dtype(), first.shape());
  Sizes result;
  for (int64_t i = 0; i < first.num_elements(); ++i) result.push_back(value.number(i));
  return result;
}

void OpenShapes::set(const Tensor& input, const Sizes& shape) {
  std::array<Types, kTraces>& types = types_[keras_node(input).get()];
  for (size_t i = 0; i < kTraces; ++i) {
    Shape sizes;
    for (const Size& size : shape) sizes.push_back(size.by_trace[i]);
    types[i] = {{input.dtype(), sizes}};
  }
  note(input);
}

void OpenShapes::note(const Tensor& placeholder) {
  const Sizes shape = of(placeholder);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const bool known =
        shape[axis].fixed() || std::ranges::find(axes_, shape[axis], &Axis::size) != axes_.end();
    if (!known) axes_.push_back({placeholder, static_cast<int64_t>(axis), shape[axis]});
  }
}

Sizes OpenShapes::of(const Tensor& placeholder) {
  Sizes result;
  if (placeholder.shape().is_static()) {
    for (const int64_t size : placeholder.shape()) result.emplace_back(size);
    return result;
  }
  const auto& types = types_of(keras_node(placeholder));
  const auto output = static_cast<size_t>(placeholder.symbol_id());
  result.resize(static_cast<size_t>(placeholder.rank()));
  for (size_t axis = 0; axis < result.size(); ++axis) {
    for (size_t i = 0; i < kTraces; ++i) {
      result[axis].by_trace[i] = types[i].at(output).second[static_cast<int64_t>(axis)];
    }
  }
  return result;
}

// Computes the types of preceding nodes first; chains of them may be long.
const std::array<OpenShapes::Types, kTraces>& OpenShapes::types_of(
    const std::shared_ptr<KerasNode>& last) {
  std::vector<std::shared_ptr<KerasNode>> path = {last};
  while (!path.empty()) {
    const std::shared_ptr<KerasNode> node = path.back();
    if (types_.contains(node.get())) {
      path.pop_back();
      continue;
    }
    bool ready = true;
    for (const Tensor& operand : node->operands()) {
      const auto before = keras_node(operand);
      if (types_.contains(before.get())) continue;
      path.push_back(before);
      ready = false;
    }
    if (ready) types_.emplace(node.get(), computed(*node));
  }
  return types_.at(last.get());
}

std::array<OpenShapes::Types, kTraces> OpenShapes::computed(const KerasNode& node) {
  std::array<Types, kTraces> result;
  for (size_t i = 0; i < kTraces; ++i) {
    Types inputs;
    for (const Tensor& input : node.inputs()) {
      if (!is_placeholder(input)) {
        inputs.emplace_back(input.dtype(), input.shape());
        continue;
      }
      const auto& before = types_.at(keras_node(input).get())[i];
      inputs.push_back(before.at(static_cast<size_t>(input.symbol_id())));
    }
    result[i] = node.layer()->compute_output_types(inputs, node.options());
  }
  return result;
}

}  // namespace cornu::onnx::reading
