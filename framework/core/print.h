// SPDX-License-Identifier: Apache-2.0
// How tensors are printed.
#pragma once

#include <cstdint>
#include <string>

#include "framework/core/tensor.h"

namespace cornu {

// numpy.set_printoptions: its fields, order and defaults.
struct PrintOptions {
  int64_t precision = 8;     // maximum number of digits after the point
  int64_t threshold = 1000;  // tensors with more elements are summarized
  int64_t edge_items = 3;    // elements shown at each end of an axis when summarized
  int64_t line_width = 75;   // maximum characters per line
  bool suppress = false;     // print small numbers as 0 instead of switching all to exponents
};

// Sets the options used by std::cout, fmt and to_string(), in all threads. Throws InvalidArgument
// for negative numbers.
void set_print_options(const PrintOptions& options);
PrintOptions print_options();

// Formats the elements alone, as NumPy's array2string does: "[[1. 2.]\n [3. 4.]]". A scalar has no
// brackets. Throws FailedPrecondition for a symbolic tensor.
std::string array_to_string(const Tensor& tensor, const PrintOptions& options = print_options());

}  // namespace cornu
