// SPDX-License-Identifier: Apache-2.0
// Pooling over 1, 2 or 3 spatial axes, channels-last.
#pragma once

#include "framework/core/tensor.h"
#include "framework/ops/arguments.h"

namespace cornu::ops {

struct PoolOptions {
  Sizes strides = {};  // None: pool_size
  Padding padding = "valid";
};

// inputs (batch, spatial..., channels) -> (batch, new spatial..., channels). Padding never counts
// as the maximum. The gradient goes to the first maximum of each window.
Tensor max_pool(const Tensor& inputs, const Sizes& pool_size, const PoolOptions& options = {});

// The mean of each window; padding isn't counted in the divisor.
Tensor average_pool(const Tensor& inputs, const Sizes& pool_size, const PoolOptions& options = {});

// Pooling into output_size windows, given per axis or as one number for all: window i of n covers
// floor(i * size / n) to ceil((i + 1) * size / n), so neighboring windows may overlap. Spatial axes
// must be known. Gradients are as for max_pool and average_pool.
Tensor adaptive_max_pool(const Tensor& inputs, const Sizes& output_size);
Tensor adaptive_average_pool(const Tensor& inputs, const Sizes& output_size);

}  // namespace cornu::ops
