// SPDX-License-Identifier: Apache-2.0
#include "layers/keras_layer.h"

#include <cstdlib>
#include <span>

#include "framework/model/title.h"
#include "framework/ops/ops.h"

namespace cornu {
namespace {

constexpr int64_t kMaxAxes = 32;  // as in NumPy

// As it was written: float32's shortest text represents more digits as a double.
double shortest(float value) { return std::strtod(fmt::format("{}", value).c_str(), nullptr); }

Json nested_list(std::span<const double> numbers, const Shape& shape) {
  if (shape.rank() == 0) return numbers[0];
  Json::Array list;
  const size_t part = shape[0] == 0 ? 0 : numbers.size() / static_cast<size_t>(shape[0]);
  for (size_t i = 0; i < static_cast<size_t>(shape[0]); ++i) {
    list.push_back(nested_list(numbers.subspan(i * part, part), shape.slice(1)));
  }
  return list;
}

void read_nested(const Json& json, int64_t axis, Shape& shape, std::vector<double>& numbers) {
  if (!json.is_array()) {
    check<InvalidArgument>(axis == shape.rank(), "expected lists of numbers of one depth.");
    numbers.push_back(json.as_double());
    return;
  }
  const auto size = static_cast<int64_t>(json.size());
  check<InvalidArgument>(axis < kMaxAxes, "expected lists of {} levels or fewer.", kMaxAxes);
  if (axis == shape.rank() && numbers.empty()) shape.push_back(size);
  check<InvalidArgument>(axis < shape.rank() && shape[axis] == size,
                         "expected lists of numbers of equal lengths.");
  for (const Json& element : json.as_array()) read_nested(element, axis + 1, shape, numbers);
}

}  // namespace

Json config_value(const Tensor& numbers) {
  if (!numbers.defined()) return nullptr;
  if (numbers.is_weak()) return numbers.weak_value();
  const Tensor there = numbers.host();
  std::vector<double> values;
  dispatch_dtype(there.dtype(), [&](auto t) {
    for (const auto& value : there.data<decltype(t)>()) {
      if constexpr (std::is_same_v<decltype(t), float>) {
        values.push_back(shortest(value));
      } else {
        values.push_back(static_cast<double>(value));
      }
    }
  });
  return nested_list(values, there.shape());
}

void set_from_config(const Json& json, Tensor& numbers) {
  numbers = {};
  if (json.is_null()) return;
  Shape shape;
  std::vector<double> values;
  read_nested(json, 0, shape, values);
  numbers = Tensor::from(values, shape);
}

}  // namespace cornu

namespace cornu::layers {

namespace {

Json pair_of(const Margin& margin) { return Json::array({margin.before, margin.after}); }

}  // namespace

Json config_value(const Margins2& value) {
  return Json::array({pair_of(value.height()), pair_of(value.width())});
}
Json config_value(const Margins3& value) {
  return Json::array(
      {pair_of(value.axes()[0]), pair_of(value.axes()[1]), pair_of(value.axes()[2])});
}

void set_from_config(const Json& json, Margins2& value) { value = Margins2::from_json(json); }
void set_from_config(const Json& json, Margins3& value) { value = Margins3::from_json(json); }

void set_from_config(const Json& json, AbsentFeature& feature) {
  check<Unimplemented>(json.is_null() || json == feature.off,
                       "Config: '{}' isn't available here: expected {}, got {}. Make the layer "
                       "without it in Keras, and save that.",
                       feature.key, feature.off.dump(), json.excerpt());
}

KerasLayer::KerasLayer(std::string class_name, const LayerOptions& options)
    : Layer(options), class_name_(std::move(class_name)) {
  name();
}

namespace {

constexpr char kOneInput[] =
    "expected 1 input, got {} of them. Merge them first, for example with layers::Concatenate().";

}  // namespace

void KerasLayer::build_list(const std::vector<Shape>& input_shapes) {
  require(input_shapes.size() == 1, kOneInput, input_shapes.size());
  check_input(input_shapes[0]);
  build(input_shapes[0]);
}

Tensors KerasLayer::call_list(const Tensors& inputs, const CallArgs& args) {
  require(inputs.size() == 1, kOneInput, inputs.size());
  check_input(inputs[0].shape());
  return call(inputs[0], args);
}

std::string KerasLayer::label() const { return title_of(*this); }

int64_t KerasLayer::known_axis(const Shape& shape, int64_t axis) const {
  const int64_t size = shape[shape.normalize_axis(axis, label())];
  require(size != kUnknown, "expected a known axis {}, got {}. Give Input its size.", axis, shape);
  return size;
}

void KerasLayer::require_axis(const Shape& shape, int64_t axis, int64_t size) const {
  const int64_t given = shape[shape.normalize_axis(axis, label())];
  require(
      given == size || given == kUnknown,
      "expected {} elements on axis {}, as when the layer was built, got {}. Another size needs "
      "another layer.",
      size, axis, shape);
}

bool KerasLayer::flag(const CallArgs& args, const char* key) const {
  const Json* value = args.settings.is_null() ? nullptr : args.settings.find(key);
  if (!value || value->is_null()) return false;
  require(value->is_bool(), "expected {} to be true or false, got {}.", key, value->excerpt());
  return value->as_bool();
}

Tensor KerasLayer::compute(const Variable& weight) const {
  return ops::cast(weight.value(), compute_dtype());
}

}  // namespace cornu::layers
