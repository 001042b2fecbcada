// SPDX-License-Identifier: Apache-2.0
// Boston housing: prices of houses in the late 1970s (StatLib, Carnegie Mellon University).
#pragma once

#include <cstdint>
#include <filesystem>

#include "data/datasets/splits.h"

namespace cornu::datasets::boston_housing {

struct LoadOptions {
  std::filesystem::path path = {};  // see FileOptions; the file is boston_housing.npz
  double test_split = 0.2;          // the part that is for testing, in [0, 1)
  int64_t seed = 113;               // of the order, which is Keras's
  bool download = true;
};

// 506 examples: x float64 (n, 13), y float64 (n), in thousands of dollars
// (keras.datasets.boston_housing.load_data). One of the attributes, "B", assumes that segregation
// by race influences prices: Keras advises against this data set, but for showing such issues;
// california_housing's "small" version takes its place. Errors as FileOptions says; InvalidArgument
// for a test_split or seed (of 32 bits) that is none.
Splits load_data(const LoadOptions& options = {});

}  // namespace cornu::datasets::boston_housing
