// SPDX-License-Identifier: Apache-2.0
// The coefficient of determination.
#pragma once

#include <cstdint>
#include <string>

#include "framework/metrics/metric.h"

namespace cornu::metrics {

struct R2ScoreOptions {
  // How to aggregate the scores of outputs: "uniform_average" is the mean,
  // "variance_weighted_average" the mean weighted by the labels' variances. Empty: a vector with a
  // score per output, which fit can't display.
  std::string class_aggregation = "uniform_average";
  // Number of independent variables, for the adjusted score; 0: the standard score. The standard
  // score is also used when the adjusted one is undefined (num_regressors >= number of labels - 1).
  int64_t num_regressors = 0;
  std::string name = "r2_score";
  DTypeName dtype = {};  // of labels, predictions and weights; sums are float32
};
// 1 - (sum of squared errors) / (sum of squared differences from the labels' mean): 1 for perfect
// predictions, 0 for predictions no better than the mean. If all labels are equal, NaN for exact
// predictions and 0 otherwise; NaN before the first update.
//
// y_true, y_pred: (batch, outputs). `sample_weight`: (batch), or broadcastable to y_true's shape.
// The per-output variables are created in the first update.
class R2Score final : public Metric {
 public:
  explicit R2Score(const R2ScoreOptions& options = {});
};

}  // namespace cornu::metrics
