// SPDX-License-Identifier: Apache-2.0
// Regression losses.
#pragma once

#include <cstdint>
#include <string>

#include "framework/losses/loss.h"

namespace cornu::losses {

// ---- unreduced: y_true and y_pred of the same shape; the mean over the last axis ----

Tensor mean_squared_error(const Tensor& y_true, const Tensor& y_pred);
Tensor mean_absolute_error(const Tensor& y_true, const Tensor& y_pred);
// 100 |(y_true - y_pred) / y_true|, with |y_true| clipped to at least 1e-7
Tensor mean_absolute_percentage_error(const Tensor& y_true, const Tensor& y_pred);
// (log(y_pred + 1) - log(y_true + 1))^2, with both clipped to at least 1e-7
Tensor mean_squared_logarithmic_error(const Tensor& y_true, const Tensor& y_pred);
// Quadratic for errors up to `delta`, linear beyond.
Tensor huber(const Tensor& y_true, const Tensor& y_pred, double delta = 1.0);
// log(cosh(y_pred - y_true)), computed without overflow
Tensor log_cosh(const Tensor& y_true, const Tensor& y_pred);
// The negative cosine of the angle between y_true and y_pred along `axis`: -1 for the same
// direction.
Tensor cosine_similarity(const Tensor& y_true, const Tensor& y_pred, int64_t axis = -1);

// ---- losses ----

class MeanSquaredError final : public Loss {
 public:
  explicit MeanSquaredError(const LossOptions& options = {});
};

class MeanAbsoluteError final : public Loss {
 public:
  explicit MeanAbsoluteError(const LossOptions& options = {});
};

class MeanAbsolutePercentageError final : public Loss {
 public:
  explicit MeanAbsolutePercentageError(const LossOptions& options = {});
};

class MeanSquaredLogarithmicError final : public Loss {
 public:
  explicit MeanSquaredLogarithmicError(const LossOptions& options = {});
};

struct HuberOptions {
  double delta = 1.0;
  Reduction reduction = Reduction::SumOverBatchSize;
  std::string name = "huber_loss";
  DTypeName dtype = {};
};
class Huber final : public Loss {
 public:
  explicit Huber(const HuberOptions& options = {});
};

class LogCosh final : public Loss {
 public:
  explicit LogCosh(const LossOptions& options = {});
};

struct CosineSimilarityOptions {
  int64_t axis = -1;
  Reduction reduction = Reduction::SumOverBatchSize;
  std::string name = "cosine_similarity";
  DTypeName dtype = {};
};
class CosineSimilarity final : public Loss {
 public:
  explicit CosineSimilarity(const CosineSimilarityOptions& options = {});
};

}  // namespace cornu::losses
