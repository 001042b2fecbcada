// SPDX-License-Identifier: Apache-2.0
// California housing: values of houses by district, of the census of 1990 (StatLib).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "data/datasets/splits.h"

namespace cornu::datasets::california_housing {

struct LoadOptions {
  std::string version = "large";    // "large": 20,640 examples; "small": the first 600
  std::filesystem::path path = {};  // see FileOptions; the file is california_housing.npz
  double test_split = 0.2;          // the part that is for testing, in [0, 1)
  int64_t seed = 113;               // of the order, which is Keras's
  bool download = true;
};

// x (n, 8): median income, age of houses, rooms and bedrooms per household, population, occupants
// per household, latitude, longitude; y (n): the median value of a house, in dollars; both of the
// file's dtype, which is float32 (keras.datasets.california_housing.load_data). Errors as
// FileOptions says; InvalidArgument for a version, test_split or seed (of 32 bits) that is none.
Splits load_data(const LoadOptions& options = {});

}  // namespace cornu::datasets::california_housing
