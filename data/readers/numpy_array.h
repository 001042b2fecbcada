// SPDX-License-Identifier: Apache-2.0
// Elements as NumPy stores them: what .npy files and pickled arrays share. Internal to the readers.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "framework/core/tensor.h"

namespace cornu::data {

// What NumPy writes as "<f4": an order, a kind and a size.
struct NumpyType {
  char order = '|';  // '<' little-endian, '>' big-endian, '=' this machine's, '|' of no matter
  char kind = 'V';   // 'b' bool, 'i' int, 'u' unsigned, 'f' float, 'V' bytes, 'O' object, …
  size_t size = 0;   // bytes of an element

  bool is_object() const { return kind == 'O'; }
  std::string to_string() const;
  // What the elements become in a tensor: int16 and uint16 become int32, since no dtype has two
  // bytes; 'V2' is bfloat16, as ml_dtypes stores it. Nothing for what a tensor can't hold.
  std::optional<DType> dtype() const;
};

// "<f4", "|u1", "i8" (of this machine's order), "O". Nothing when it isn't written so.
std::optional<NumpyType> parse_numpy_type(std::string_view text);
// What a tensor's elements are stored as.
NumpyType numpy_type_of(DType dtype);

// The tensor that `bytes` hold, which must be as many as `shape` and `type` need (both from a
// trusted place: see array_bytes). The result is row-major; it shares `bytes`, which `owner` keeps
// alive, where they are what the tensor needs already. `type` must have a dtype().
Tensor array_from_bytes(const NumpyType& type, const Shape& shape, bool fortran_order,
                        std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

// shape's elements times the size of each; nothing when that doesn't fit or isn't possible.
std::optional<size_t> array_bytes(const NumpyType& type, const Shape& shape);

}  // namespace cornu::data
