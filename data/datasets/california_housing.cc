// SPDX-License-Identifier: Apache-2.0
#include "data/datasets/california_housing.h"

#include "data/datasets/dataset_file.h"
#include "data/datasets/housing.h"
#include "data/datasets/test_split.h"

namespace cornu::datasets::california_housing {

Splits load_data(const LoadOptions& options) {
  constexpr DatasetFile kFile = {
      .title = "California housing",
      .name = "california_housing.npz",
      .folder = kKerasFolder,
      .hash = "1a2e3a52e0398de6463aebe6f4a8da34fb21fbb6b934cf88c3425e766f2a1a6f"};
  constexpr int64_t kSmall = 600;
  check_test_split(options.test_split, "california_housing");
  const bool small = options.version == "small";
  check<InvalidArgument>(small || options.version == "large",
                         "california_housing: expected the version \"small\" or \"large\", got "
                         "\"{}\".",
                         options.version);
  const auto path = find_dataset_file(kFile, {options.path, options.download});
  return load_housing(path, small ? std::optional(kSmall) : std::nullopt, options.test_split,
                      options.seed);
}

}  // namespace cornu::datasets::california_housing
