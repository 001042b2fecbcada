// SPDX-License-Identifier: Apache-2.0
// Boston housing: house prices in the late 1970s (StatLib, Carnegie Mellon University).
#pragma once

#include <cstdint>
#include <filesystem>

#include "data/datasets/splits.h"

namespace cornu::datasets::boston_housing {

struct LoadOptions {
  std::filesystem::path path = {};  // see FileOptions; the file is boston_housing.npz
  double test_split = 0.2;          // fraction of the examples used for testing, in [0, 1)
  int64_t seed = 113;               // of the shuffle, whose order matches Keras's
  bool download = true;
};

// 506 examples: x float64 (n, 13), y float64 (n), in thousands of dollars
// (keras.datasets.boston_housing.load_data). One of the attributes, "B", assumes that racial
// segregation influences prices: Keras advises against this data set, except for demonstrating such
// issues, and recommends california_housing's "small" version instead. Throws the errors documented
// for FileOptions; InvalidArgument for an invalid test_split or seed (32 bits).
Splits load_data(const LoadOptions& options = {});

}  // namespace cornu::datasets::boston_housing
