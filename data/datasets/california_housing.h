// SPDX-License-Identifier: Apache-2.0
// California housing: house values by district, from the 1990 census (StatLib).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "data/datasets/splits.h"

namespace cornu::datasets::california_housing {

struct LoadOptions {
  std::string version = "large";    // "large": 20,640 examples; "small": the first 600
  std::filesystem::path path = {};  // see FileOptions; the file is california_housing.npz
  double test_split = 0.2;          // fraction of the examples used for testing, in [0, 1)
  int64_t seed = 113;               // of the shuffle, whose order matches Keras's
  bool download = true;
};

// x (n, 8): median income, age of houses, rooms and bedrooms per household, population, occupants
// per household, latitude, longitude; y (n): the median house value, in dollars. Both have the
// file's dtype, float32 (keras.datasets.california_housing.load_data). Throws the errors documented
// for FileOptions; InvalidArgument for an invalid version, test_split or seed (32 bits).
Splits load_data(const LoadOptions& options = {});

}  // namespace cornu::datasets::california_housing
