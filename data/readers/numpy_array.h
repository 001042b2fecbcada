// SPDX-License-Identifier: Apache-2.0
// NumPy's representation of array elements, shared by .npy files and pickled arrays. Internal to
// the readers.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "framework/core/tensor.h"

namespace cornu::data {

// A type that NumPy writes as "<f4": a byte order, a kind and a size.
struct NumpyType {
  char order = '|';  // '<' little-endian, '>' big-endian, '=' native, '|' not applicable
  char kind = 'V';   // 'b' bool, 'i' int, 'u' unsigned, 'f' float, 'V' bytes, 'O' object, …
  size_t size = 0;   // bytes of an element

  bool is_object() const { return kind == 'O'; }
  std::string to_string() const;
  // The corresponding tensor dtype: int16 and uint16 become int32, since there is no two-byte
  // integer dtype; 'V2' is bfloat16, as stored by ml_dtypes. nullopt if a tensor can't hold the
  // type.
  std::optional<DType> dtype() const;
};

// Parses "<f4", "|u1", "i8" (native order), "O". Returns nullopt for other syntax.
std::optional<NumpyType> parse_numpy_type(std::string_view text);
// The type in which a tensor's elements are stored.
NumpyType numpy_type_of(DType dtype);

// Makes a tensor of `bytes`, whose size must match `shape` and `type` (which must be validated, see
// array_bytes). The result is row-major; it shares `bytes`, which `owner` keeps alive, if no
// conversion is needed. `type` must have a dtype().
Tensor array_from_bytes(const NumpyType& type, const Shape& shape, bool fortran_order,
                        std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

// The number of elements times their size; nullopt if it overflows or is invalid.
std::optional<size_t> array_bytes(const NumpyType& type, const Shape& shape);

}  // namespace cornu::data
