// SPDX-License-Identifier: Apache-2.0
#include "framework/model/constants.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "framework/ops/math.h"
#include "framework/ops/reduce.h"
#include "framework/ops/shape.h"

namespace cornu {
namespace {

constexpr char kTensor[] = "__tensor__";
constexpr char kNumpy[] = "__numpy__";  // what Keras writes for a NumPy array

Json nested_values(const Tensor& tensor) {
  if (tensor.rank() == 0) {
    if (tensor.dtype() == DType::Bool) return tensor.item<int64_t>() != 0;
    return is_floating(tensor.dtype()) ? Json(tensor.item<double>()) : Json(tensor.item<int64_t>());
  }
  Json::Array list;
  for (int64_t i = 0; i < tensor.shape().front(); ++i) {
    list.push_back(nested_values(tensor.rows(i, i + 1).with_shape(tensor.shape().slice(1))));
  }
  return list;
}

void collect(const Json& nested, const std::function<void(const Json&)>& add) {
  if (!nested.is_array()) return add(nested);
  for (const Json& element : nested.as_array()) collect(element, add);
}

// Whether a nested list lacks the axes behind one without elements.
bool is_shape_lost(const Shape& shape) {
  return std::find(shape.begin(), shape.end(), 0) < shape.end() - 1;
}

Tensor tensor_of(const Json& nested, DType dtype) {
  Shape shape;
  for (const Json* level = &nested; level->is_array(); level = &(*level)[0]) {
    shape.push_back(static_cast<int64_t>(level->size()));
    if (level->size() == 0) break;
  }
  std::vector<double> numbers;
  std::vector<int64_t> integers;  // if all are integers: doubles can't represent all of them
  collect(nested, [&](const Json& value) {
    numbers.push_back(value.is_bool() ? value.as_bool() : value.as_double());
    if (value.is_int()) integers.push_back(value.as_int());
  });
  const bool whole = is_integer(dtype) && integers.size() == numbers.size();
  return ops::cast(whole ? Tensor::from(integers, shape) : Tensor::from(numbers, shape), dtype);
}

}  // namespace

Json serialize_constant(const Tensor& tensor) {
  if (tensor.rank() == 0) return nested_values(tensor);
  Json config =
      Json::object({{"value", nested_values(tensor)}, {"dtype", to_string(tensor.dtype())}});
  if (is_shape_lost(tensor.shape())) config.set("shape", tensor.shape().dims());
  return Json::object({{"class_name", kTensor}, {"config", std::move(config)}});
}

bool is_constant(const Json& json) {
  const Json* kind = json.is_object() ? json.find("class_name") : nullptr;
  return kind && kind->is_string() && (kind->as_string() == kTensor || kind->as_string() == kNumpy);
}

Tensor parse_constant(const Json& json) {
  const Json& config = json.at("config");
  const DType dtype = dtype_from_string(config.at("dtype").as_string());
  const Tensor tensor = tensor_of(config.at("value"), dtype);
  const Json* shape = config.find("shape");
  return shape ? ops::reshape(tensor, shape->as_shape()) : tensor;
}

Tensor literal_tensor(const Json& json) {
  if (json.is_bool()) return Tensor(json.as_bool());
  if (json.is_int()) return Tensor(json.as_int());
  if (json.is_number()) return Tensor(json.as_double());
  check<InvalidArgument>(json.is_array(), "A constant: expected a number or a list, got {}.",
                         json.excerpt());
  const Json* first = &json;
  while (first->is_array() && first->size() > 0) first = &(*first)[0];
  if (!first->is_int()) return tensor_of(json, first->is_bool() ? DType::Bool : DType::Float32);
  bool is_narrow = true;
  collect(json, [&](const Json& value) {
    is_narrow = is_narrow && (!value.is_int() || std::in_range<int32_t>(value.as_int()));
  });
  return tensor_of(json, is_narrow ? DType::Int32 : DType::Int64);
}

}  // namespace cornu
