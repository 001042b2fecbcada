// SPDX-License-Identifier: Apache-2.0
// The .npy header. Internal to the readers.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "data/readers/numpy_array.h"

namespace cornu::data {

struct NpyHeader {
  NumpyType type;
  bool fortran_order = false;
  Shape shape;
  size_t bytes = 0;  // the size of the header, i.e. the offset of the elements
};

// Throws DataLoss when `file` doesn't begin with a header; Unimplemented for structured types.
NpyHeader parse_npy_header(std::span<const std::byte> file, const std::string& name);

// The bytes before the elements, as written by NumPy.
std::string npy_header(DType dtype, const Shape& shape);

}  // namespace cornu::data
