// SPDX-License-Identifier: Apache-2.0
// Windows of a series (keras.utils.timeseries_dataset_from_array).
#pragma once

#include <cstdint>
#include <optional>

#include "data/dataset.h"

namespace cornu::data {

struct TimeseriesOptions {
  int64_t sequence_stride = 1;              // steps from a window to the next
  int64_t sampling_rate = 1;                // steps from a value of a window to the next
  std::optional<int64_t> batch_size = 128;  // None: single windows
  bool shuffle = false;                     // anew in each pass
  std::optional<int64_t> seed = {};         // 0 to 2^32 - 1
  std::optional<int64_t> start_index = {};  // steps before it aren't used
  std::optional<int64_t> end_index = {};    // nor these from it on
};

// Batches of windows of `data` (steps, …): (batch, sequence_length, …). With `targets` (an
// undefined tensor: none) pairs of these and of the targets whose index is that of the window's
// first step: for a value that comes `ahead` steps after a window's beginning,
//
//   data::timeseries_dataset_from_array(x.rows(0, -ahead), y.rows(ahead, steps), length)
//
// Windows are kept as the numbers of their first steps, and shuffled so; they are gathered out of
// `data`, which isn't copied, when their batch comes. InvalidArgument for numbers that Keras
// refuses, and where there is no window. Reference: keras.utils.timeseries_dataset_from_array.
Dataset timeseries_dataset_from_array(const Tensor& data, const Tensor& targets,
                                      int64_t sequence_length,
                                      const TimeseriesOptions& options = {});

}  // namespace cornu::data
