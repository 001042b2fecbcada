// SPDX-License-Identifier: Apache-2.0
// A dataset in two parts (keras.utils.split_dataset).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "data/dataset.h"

namespace cornu::data {

// How many examples a part has: a number of them, or a share between 0 and 1.
using SplitSize = std::variant<int64_t, double>;

struct SplitDatasetOptions {
  std::optional<SplitSize> left_size = {};   // None: what right_size leaves
  std::optional<SplitSize> right_size = {};  // None: what left_size leaves; one must be given
  bool shuffle = false;                      // before they are divided
  std::optional<int64_t> seed = {};          // with one, the parts are those that Keras gives
};

// The first examples and the last ones of one pass over a dataset, which are kept in memory.
// Batches are taken apart, and made anew of each part's examples; what a map makes of batches are
// elements like others, unless its rows are known to be theirs.
//
//   auto [train, test] = data::split_dataset(dataset, {.left_size = 0.8});
//
// InvalidArgument for sizes that don't go together, for a part without examples, for batches
// whose tensors differ in rows, and for a dataset that never ends. Reference:
// keras.utils.split_dataset.
std::pair<Dataset, Dataset> split_dataset(const Dataset& dataset,
                                          const SplitDatasetOptions& options);

}  // namespace cornu::data
