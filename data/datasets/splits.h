// SPDX-License-Identifier: Apache-2.0
// What the built-in data sets are given as.
#pragma once

#include "framework/core/tensor.h"

namespace cornu::datasets {

// Examples and their labels: `auto [train, test] = datasets::mnist::load_data();`
struct Examples {
  Tensor x;
  Tensor y;
};
struct Splits {
  Examples train;
  Examples test;
};

}  // namespace cornu::datasets
