// SPDX-License-Identifier: Apache-2.0
#include "layers/argument_types.h"

#include "framework/core/error.h"

namespace cornu::layers {
namespace {

Margin margin_from_json(const Json& json) {
  if (json.is_int()) return {json.as_int(), json.as_int()};
  const auto sides = json.as_ints();
  check<InvalidArgument>(sides.size() == 2, "expected two numbers for an axis, got {}.",
                         json.excerpt());
  return {sides[0], sides[1]};
}

}  // namespace

template <int kAxes>
Size<kAxes> Size<kAxes>::from_json(const Json& json) {
  if (json.is_null()) return {};
  if (json.is_int()) return json.as_int();
  Size size;
  size.values_ = json.as_ints();
  check<InvalidArgument>(size.values_.size() == kAxes, "expected {} integers, got {}.", kAxes,
                         json.excerpt());
  return size;
}

Margins2 Margins2::from_json(const Json& json) {
  if (json.is_int()) return json.as_int();
  check<InvalidArgument>(json.is_array() && json.size() == 2,
                         "expected ((top, bottom), (left, right)), got {}.", json.excerpt());
  return {margin_from_json(json[0]), margin_from_json(json[1])};
}

Margins3 Margins3::from_json(const Json& json) {
  if (json.is_int()) return json.as_int();
  check<InvalidArgument>(json.is_array() && json.size() == 3,
                         "expected two numbers for each of three axes, got {}.", json.excerpt());
  return {margin_from_json(json[0]), margin_from_json(json[1]), margin_from_json(json[2])};
}

template <class T>
OneOrMany<T> OneOrMany<T>::from_json(const Json& json) {
  auto number = [](const Json& element) {
    if constexpr (std::is_integral_v<T>) {
      return element.as_int();
    } else {
      return element.as_double();
    }
  };
  if (json.is_null()) return {};
  if (json.is_number()) return number(json);
  std::vector<T> values;
  for (const Json& element : json.as_array()) values.push_back(number(element));
  return values;
}

template <class T>
Json OneOrMany<T>::to_json() const {
  if (!given()) return nullptr;
  if (is_one()) return values_[0];
  return Json::Array(values_.begin(), values_.end());
}

template class Size<1>;
template class Size<2>;
template class Size<3>;
template class OneOrMany<int64_t>;
template class OneOrMany<double>;

PartialShape PartialShape::from_json(const Json& json) {
  if (json.is_null()) return {};
  if (json.is_int()) return PartialShape(json.as_int());
  std::vector<int64_t> sizes;
  for (const Json& size : json.as_array()) {
    sizes.push_back(size.is_null() ? kUnknown : size.as_int());
  }
  return PartialShape(std::move(sizes));
}

Json PartialShape::to_json() const {
  if (!given()) return nullptr;
  if (is_one()) return values().front();
  Json::Array sizes;
  for (const int64_t size : values()) sizes.push_back(size == kUnknown ? Json() : Json(size));
  return sizes;
}

}  // namespace cornu::layers
