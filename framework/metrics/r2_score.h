// SPDX-License-Identifier: Apache-2.0
// The coefficient of determination.
#pragma once

#include <cstdint>
#include <string>

#include "framework/metrics/metric.h"

namespace cornu::metrics {

struct R2ScoreOptions {
  // How outputs' scores become one: "uniform_average" is the mean, "variance_weighted_average" the
  // mean weighted by the labels' variance. Empty: a vector by output, which fit can't show.
  std::string class_aggregation = "uniform_average";
  // Of the independent variables, for the adjusted score; 0: the standard one. With so many that
  // it doesn't exist (no fewer than labels - 1), the result is the standard one, too.
  int64_t num_regressors = 0;
  std::string name = "r2_score";
  DTypeName dtype = {};  // of labels, predictions and weights; sums are float32
};
// 1 - the sum of squared errors / the sum of squared differences from the labels' mean: 1 for
// perfect predictions, 0 for those that are no better than the mean. Not-a-number where all labels
// are equal and predicted exactly (0 where they aren't), and before the first update.
//
// y_true, y_pred: (batch, outputs). `sample_weight`: (batch), or what broadcasts to y_true's shape.
// Variables by output are made in the first update.
class R2Score : public Metric {
 public:
  explicit R2Score(const R2ScoreOptions& options = {});
};

}  // namespace cornu::metrics
