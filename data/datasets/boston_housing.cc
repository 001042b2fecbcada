// SPDX-License-Identifier: Apache-2.0
#include "data/datasets/boston_housing.h"

#include "data/datasets/dataset_file.h"
#include "data/datasets/housing.h"
#include "data/datasets/test_split.h"

namespace cornu::datasets::boston_housing {

Splits load_data(const LoadOptions& options) {
  constexpr DatasetFile kFile = {
      .title = "Boston housing",
      .name = "boston_housing.npz",
      .folder = kKerasFolder,
      .hash = "f553886a1f8d56431e820c5b82552d9d95cfcb96d1e678153f8839538947dff5"};
  check_test_split(options.test_split, "boston_housing");
  const auto path = find_dataset_file(kFile, {options.path, options.download});
  return load_housing(path, std::nullopt, options.test_split, options.seed);
}

}  // namespace cornu::datasets::boston_housing
