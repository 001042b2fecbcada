// SPDX-License-Identifier: Apache-2.0
// Moves elements to a device (tf.data.experimental).
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "data/dataset.h"
#include "framework/core/device.h"

namespace cornu::data {

// For Dataset::apply.
using DatasetTransform = std::function<Dataset(const Dataset&)>;

// Copies the tensors of each element to `device` ("GPU:0"). Must be the last transform, except for
// prefetch, since the others move elements back to the host. For a CPU, nothing is copied: all CPU
// devices share the host's memory, and Tensor::device() is CPU:0 for everything there, even for
// "CPU:1". Strategies copy batches to their devices themselves; this transform is for custom loops.
// Throws InvalidArgument for datasets with strings, and when the device doesn't exist. Reference:
// tf.data.experimental.copy_to_device.
DatasetTransform copy_to_device(std::string_view device);

// Like copy_to_device, but on a background thread, up to `buffer_size` elements in advance:
//
//   auto batches = dataset.batch(64).apply(data::prefetch_to_device("GPU:0"));
//
// Reference: tf.data.experimental.prefetch_to_device.
DatasetTransform prefetch_to_device(std::string_view device, int64_t buffer_size = kAutotune);

}  // namespace cornu::data
