// SPDX-License-Identifier: Apache-2.0
// Generated digits, for programs and tests that must run without a download.
#pragma once

#include <cstdint>

#include "data/datasets/splits.h"

namespace cornu::datasets {

struct SyntheticDigitsOptions {
  int64_t train = 10'000;  // examples
  int64_t test = 2'000;
  int64_t seed = 0;
};

// Synthetic data: digits drawn by a program, not by hand, with the shapes and types of MNIST: x
// uint8 (n, 28, 28), y uint8 (n). Strokes vary in position, slant, size, width and curvature. Much
// easier than MNIST: accuracies on the two must not be compared. The same options give the same
// images; an example doesn't depend on how many there are. Throws InvalidArgument for negative
// counts.
Splits synthetic_digits(const SyntheticDigitsOptions& options = {});

}  // namespace cornu::datasets
