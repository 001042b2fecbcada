// SPDX-License-Identifier: Apache-2.0
// Normalizations, composed of other ops. float16 and bfloat16 are computed in float32.
#pragma once

#include <cstdint>
#include <utility>

#include "framework/core/tensor.h"
#include "framework/ops/arguments.h"

namespace cornu::ops {

// Mean and variance over `axes`.
std::pair<Tensor, Tensor> moments(const Tensor& x, const Axes& axes, bool keepdims = false);

struct BatchNormalizationOptions {
  Tensor offset = {};  // beta; None: 0
  Tensor scale = {};   // gamma; None: 1
  double epsilon = 1e-3;
};

// (x - mean) / sqrt(variance + epsilon) * scale + offset. mean, variance, scale and offset are
// vectors with the size of `axis` (Ioffe and Szegedy 2015).
Tensor batch_normalization(const Tensor& x, const Tensor& mean, const Tensor& variance,
                           int64_t axis = -1, const BatchNormalizationOptions& options = {});

struct LayerNormalizationOptions {
  Tensor gamma = {};  // with the shape of the normalized axes; None: 1
  Tensor beta = {};   // None: 0
  Axes axis = -1;
  double epsilon = 1e-7;
};

// Normalizes to mean 0 and variance 1 over `axis`, then * gamma + beta (Ba et al. 2016).
Tensor layer_normalization(const Tensor& x, const LayerNormalizationOptions& options = {});

struct RmsNormalizationOptions {
  Tensor scale = {};  // None: 1
  Axes axis = -1;
  double epsilon = 1e-7;
};

// x / sqrt(mean(x^2) + epsilon) * scale (Zhang and Sennrich 2019).
Tensor rms_normalization(const Tensor& x, const RmsNormalizationOptions& options = {});

struct NormalizeOptions {
  Axes axis = -1;
  double order = 2;  // of the norm; infinity: the maximum
  double epsilon = 1e-7;
};

// x / max(norm(x, axis), epsilon).
Tensor normalize(const Tensor& x, const NormalizeOptions& options = {});

}  // namespace cornu::ops
