// SPDX-License-Identifier: Apache-2.0
// Elements that lie on a device (tf.data.experimental).
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "data/dataset.h"
#include "framework/core/device.h"

namespace cornu::data {

// For Dataset::apply.
using DatasetTransform = std::function<Dataset(const Dataset&)>;

// Copies the tensors of each element to `device` ("GPU:0"): the last transform but for prefetch,
// since the others bring elements back to the host. For a CPU nothing is copied: all share the
// host's memory, and Tensor::device() is CPU:0 of all that lies there, after "CPU:1", too.
// Strategies bring batches to their devices by themselves; this is for loops of one's own.
// InvalidArgument for datasets with strings, and where there is no such device. Reference:
// tf.data.experimental.copy_to_device.
DatasetTransform copy_to_device(std::string_view device);

// The same on a thread, up to `buffer_size` elements ahead:
//
//   auto batches = dataset.batch(64).apply(data::prefetch_to_device("GPU:0"));
//
// Reference: tf.data.experimental.prefetch_to_device.
DatasetTransform prefetch_to_device(std::string_view device, int64_t buffer_size = kAutotune);

}  // namespace cornu::data
