// SPDX-License-Identifier: Apache-2.0
// Golden values as tensors, and comparisons with them.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/core/tensor.h"
#include "framework/core/tensors.h"
#include "tests/golden/golden_cases.h"

namespace cornu::test {

// A number, or one of the strings "nan", "inf", "-inf".
inline double golden_number(const Json& json) {
  if (!json.is_string()) return json.is_bool() ? (json.as_bool() ? 1.0 : 0.0) : json.as_double();
  const std::string& text = json.as_string();
  if (text == "nan") return NAN;
  return text == "inf" ? INFINITY : -INFINITY;
}

// {"shape", "dtype", "data"}; undefined for null.
inline Tensor golden_tensor(const Json& json) {
  if (json.is_null()) return {};
  Tensor tensor =
      Tensor::empty(json.at("shape").as_shape(), dtype_from_string(json.at("dtype").as_string()));
  const auto& data = json.at("data").as_array();
  if (tensor.dtype() == DType::String) {
    const auto out = tensor.mutable_data<std::string>();
    for (size_t i = 0; i < out.size(); ++i) out[i] = data[i].as_string();
    return tensor;
  }
  dispatch_dtype(tensor.dtype(), [&](auto t) {
    using T = decltype(t);
    const auto out = tensor.mutable_data<T>();
    for (size_t i = 0; i < out.size(); ++i) {
      if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
        out[i] = T(static_cast<float>(golden_number(data[i])));
      } else if (std::is_integral_v<T> && data[i].is_int()) {
        out[i] = static_cast<T>(data[i].as_int());  // a double has too few digits
      } else {
        out[i] = static_cast<T>(golden_number(data[i]));
      }
    }
  });
  return tensor;
}

// An object of such tensors, as a dictionary.
inline Tensors golden_dictionary(const Json& json) {
  std::vector<Tensors::Named> named;
  for (const auto& [name, tensor] : json.as_object()) {
    named.emplace_back(name, golden_tensor(tensor));
  }
  return Tensors::named(std::move(named));
}

inline std::vector<double> numbers_of(const Tensor& tensor) {
  std::vector<double> result;
  dispatch_dtype(tensor.dtype(), [&](auto t) {
    for (const auto& value : tensor.data<decltype(t)>()) {
      result.push_back(static_cast<double>(value));
    }
  });
  return result;
}

struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

// Describes how `actual` differs; empty when it is close to the golden tensor.
inline std::string difference(const Tensor& actual, const Json& expected, Tolerance tolerance) {
  if (!actual.defined() || expected.is_null()) {
    return actual.defined() == !expected.is_null() ? "" : "one of them is missing";
  }
  const Tensor wanted = golden_tensor(expected);
  if (actual.shape() != wanted.shape()) {
    return fmt::format("shape {} instead of {}", actual.shape(), wanted.shape());
  }
  if (wanted.dtype() == DType::String || actual.dtype() == DType::String) {
    const bool same = actual.dtype() == wanted.dtype() &&
                      actual.to_vector<std::string>() == wanted.to_vector<std::string>();
    return same ? "" : fmt::format("{} instead of {}", actual, wanted);
  }
  const auto a = numbers_of(actual);
  const auto b = numbers_of(wanted);
  for (size_t i = 0; i < a.size(); ++i) {
    const double allowed = tolerance.absolute + tolerance.relative * std::abs(b[i]);
    const bool same =
        a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) || std::abs(a[i] - b[i]) <= allowed;
    if (!same) return fmt::format("element {}: {:.9g} instead of {:.9g}", i, a[i], b[i]);
  }
  return "";
}

// Compares outputs, a Tensors or a list of tensors, with golden ones.
template <class Outputs>
void check_outputs(const Outputs& outputs, const Json& expected, Tolerance tolerance) {
  REQUIRE(outputs.size() == expected.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    CAPTURE(i);
    CHECK(difference(outputs[i], expected[i], tolerance) == "");
    CHECK(std::string(to_string(outputs[i].dtype())) == expected[i].at("dtype").as_string());
  }
}

// Describes how two configs differ; empty when they are equal. 1 equals 1.0.
inline std::string difference(const Json& actual, const Json& expected) {
  const bool numbers = actual.is_number() && expected.is_number();
  if (numbers ? actual.as_double() == expected.as_double() : actual == expected) return "";
  if (actual.is_object() && expected.is_object() && actual.size() == expected.size()) {
    for (size_t i = 0; i < actual.size(); ++i) {
      const auto& [key, value] = actual.as_object()[i];
      const auto& [other_key, other] = expected.as_object()[i];
      if (key != other_key) return key + " instead of " + other_key;
      if (const std::string inner = difference(value, other); !inner.empty()) {
        return key + ": " + inner;
      }
    }
    return "";
  }
  if (actual.is_array() && expected.is_array() && actual.size() == expected.size()) {
    for (size_t i = 0; i < actual.size(); ++i) {
      if (const std::string inner = difference(actual[i], expected[i]); !inner.empty()) {
        return inner;
      }
    }
    return "";
  }
  return actual.dump() + " instead of " + expected.dump();
}

}  // namespace cornu::test
