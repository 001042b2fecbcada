// SPDX-License-Identifier: Apache-2.0
// Helpers for functions on string tensors.
#pragma once

#include <span>
#include <string>

#include "framework/core/strings.h"
#include "framework/core/tensor.h"

namespace cornu::data::strings {

inline std::span<const std::string> strings_of(const Tensor& input, const char* who) {
  if (!input.defined() || input.dtype() != DType::String) {
    raise<InvalidArgument>("strings::{}: expected strings, got {}.", who, input.to_string());
  }
  return input.data<std::string>();
}

// Applies `f` to each string.
template <class T, class F>
Tensor map_strings(const Tensor& input, const char* who, F f) {
  const auto texts = strings_of(input, who);
  Tensor result = Tensor::empty(input.shape(), dtype_of<T>);
  auto place = result.mutable_data<T>().begin();
  for (const std::string& text : texts) *place++ = f(text);
  return result;
}

}  // namespace cornu::data::strings
