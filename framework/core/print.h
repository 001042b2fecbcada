// SPDX-License-Identifier: Apache-2.0
// How tensors are printed.
#pragma once

#include <cstdint>
#include <string>

#include "framework/core/tensor.h"

namespace cornu {

// numpy.set_printoptions: its fields, order and defaults.
struct PrintOptions {
  int64_t precision = 8;     // the most digits after the point
  int64_t threshold = 1000;  // more elements than this are summarized
  int64_t edge_items = 3;    // shown at the beginning and end of each axis then
  int64_t line_width = 75;   // where rows are broken, in characters
  bool suppress = false;     // small numbers as 0, rather than all with exponents
};

// What std::cout, fmt and to_string() use from now on, in every thread.
// InvalidArgument for negative numbers.
void set_print_options(const PrintOptions& options);
PrintOptions print_options();

// The elements alone, as NumPy's array2string writes them: "[[1. 2.]\n [3. 4.]]". A scalar has no
// brackets. FailedPrecondition on a symbolic tensor.
std::string array_to_string(const Tensor& tensor, const PrintOptions& options = print_options());

}  // namespace cornu
