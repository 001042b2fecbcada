// SPDX-License-Identifier: Apache-2.0
// Sliding windows over a time series (keras.utils.timeseries_dataset_from_array).
#pragma once

#include <cstdint>
#include <optional>

#include "data/dataset.h"

namespace cornu::data {

struct TimeseriesOptions {
  int64_t sequence_stride = 1;              // steps between the beginnings of consecutive windows
  int64_t sampling_rate = 1;                // steps between consecutive values of a window
  std::optional<int64_t> batch_size = 128;  // nullopt: single windows
  bool shuffle = false;                     // in a new order in each pass
  std::optional<int64_t> seed = {};         // 0 to 2^32 - 1
  std::optional<int64_t> start_index = {};  // earlier steps aren't used
  std::optional<int64_t> end_index = {};    // nor are steps from this one on
};

// Batches of windows of `data` (steps, …): (batch, sequence_length, …). With `targets` (pass an
// undefined tensor for none), yields pairs of the windows and the targets at the index of each
// window's first step: to predict a value `ahead` steps after a window's beginning,
//
//   data::timeseries_dataset_from_array(x.rows(0, -ahead), y.rows(ahead, steps), length)
//
// Windows are represented, and shuffled, as the indices of their first steps; they are gathered
// from `data`, which isn't copied, when their batch is computed. Throws InvalidArgument for
// arguments that Keras rejects, and when there is no window. Reference:
// keras.utils.timeseries_dataset_from_array.
Dataset timeseries_dataset_from_array(const Tensor& data, const Tensor& targets,
                                      int64_t sequence_length,
                                      const TimeseriesOptions& options = {});

}  // namespace cornu::data
