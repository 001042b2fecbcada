// SPDX-License-Identifier: Apache-2.0
// Small tensors of every dtype that file tests write and compare. every_dtype.py makes the same
// ones.
#pragma once

#include <cstring>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::test {

inline constexpr DType kEveryDType[] = {
    DType::Bool,   DType::UInt8,   DType::Int8,     DType::Int32,   DType::Int64,  DType::UInt32,
    DType::UInt64, DType::Float16, DType::BFloat16, DType::Float32, DType::Float64};
inline const std::vector<Shape> kShapes = {Shape{}, Shape{1}, Shape{0, 3}, Shape{2, 3, 5}};

// Numbers that every dtype can represent.
inline Tensor values(DType dtype, const Shape& shape) {
  Tensor tensor = Tensor::empty(shape, dtype);
  dispatch_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    auto elements = tensor.mutable_data<T>();
    for (size_t i = 0; i < elements.size(); ++i) {
      const size_t number = i * 7 % 11;
      elements[i] = T(static_cast<float>(dtype == DType::Bool ? number % 2 : number));
    }
  });
  return tensor;
}

// Whether dtype, shape and bits are the same.
inline bool same(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  return a.num_elements() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

}  // namespace cornu::test
