// SPDX-License-Identifier: Apache-2.0
// Processing of a dataset's elements in memory.
#pragma once

#include "framework/core/tensor.h"

namespace cornu::hdf5 {

// Reverses the byte order of each element.
void swap_bytes(Tensor& tensor);

// Throws DataLoss, naming the element, unless each byte of a bool tensor is 0 or 1.
void verify_bools(const Tensor& tensor);

// Whether convert() succeeds for every tensor of dtype `from`.
bool always_converts(DType from, DType to);

// Returns the same numbers in another dtype; floats are rounded to nearest. Throws InvalidArgument,
// naming the first element that can't be represented: an integer out of range, or a float that
// isn't an integer.
Tensor convert(const Tensor& stored, DType dtype);

}  // namespace cornu::hdf5
