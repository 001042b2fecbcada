// SPDX-License-Identifier: Apache-2.0
// What is done with a dataset's elements once they are in memory.
#pragma once

#include "framework/core/tensor.h"

namespace cornu::hdf5 {

// Turns the bytes of each element around.
void swap_bytes(Tensor& tensor);

// DataLoss, naming the element, unless each byte of a bool tensor is 0 or 1.
void verify_bools(const Tensor& tensor);

// Whether every tensor of dtype `from` can be converted to `to` as below.
bool always_converts(DType from, DType to);

// The same numbers in another dtype: floats are rounded to the nearest. InvalidArgument, naming
// the first element that has no equal there: an integer out of range, a float that isn't whole.
Tensor convert(const Tensor& stored, DType dtype);

}  // namespace cornu::hdf5
