// SPDX-License-Identifier: Apache-2.0
// Splits a dataset in two (keras.utils.split_dataset).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "data/dataset.h"

namespace cornu::data {

// The size of a part: a number of examples, or a fraction between 0 and 1.
using SplitSize = std::variant<int64_t, double>;

struct SplitDatasetOptions {
  std::optional<SplitSize> left_size = {};   // nullopt: the remainder after right_size
  std::optional<SplitSize> right_size = {};  // nullopt: the remainder after left_size; at least one
                                             // is required
  bool shuffle = false;                      // before splitting
  std::optional<int64_t> seed = {};          // with a seed, the parts match Keras's
};

// Splits one pass over a dataset, which is kept in memory, into its first and its last examples.
// Batches are split into examples, which are batched again within each part. Elements that a map
// makes of batches count as single elements, unless their rows are known to correspond to the
// batches' rows.
//
//   auto [train, test] = data::split_dataset(dataset, {.left_size = 0.8});
//
// Throws InvalidArgument for inconsistent sizes, for a part without examples, for batches whose
// tensors have different numbers of rows, and for an infinite dataset. Reference:
// keras.utils.split_dataset.
std::pair<Dataset, Dataset> split_dataset(const Dataset& dataset,
                                          const SplitDatasetOptions& options);

}  // namespace cornu::data
