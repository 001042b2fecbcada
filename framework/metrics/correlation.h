// SPDX-License-Identifier: Apache-2.0
// How labels and predictions vary together.
#pragma once

#include <cstdint>
#include <string>

#include "framework/metrics/metric.h"

namespace cornu::metrics {

// The covariance of y_true and y_pred, of one shape, along `axis`, divided by their standard
// deviations: 1 where one is a rising line of the other, -1 for a falling one. Not-a-number where
// one of them is constant.
Tensor pearson_correlation(const Tensor& y_true, const Tensor& y_pred, int64_t axis = -1);

// Lin, "A concordance correlation coefficient to evaluate reproducibility", Biometrics 1989: 1 only
// where both are equal, as means and variances count too. As Keras computes it.
Tensor concordance_correlation(const Tensor& y_true, const Tensor& y_pred, int64_t axis = -1);

struct PearsonCorrelationOptions {
  std::string name = "pearson_correlation";
  DTypeName dtype = {};
  int64_t axis = -1;  // along which they vary; 0 is within a batch, not over batches
};
// The mean of pearson_correlation over all other axes and batches.
class PearsonCorrelation : public Metric {
 public:
  explicit PearsonCorrelation(const PearsonCorrelationOptions& options = {});
};

struct ConcordanceCorrelationOptions {
  std::string name = "concordance_correlation";
  DTypeName dtype = {};
  int64_t axis = -1;
};
// The mean of concordance_correlation over all other axes and batches.
class ConcordanceCorrelation : public Metric {
 public:
  explicit ConcordanceCorrelation(const ConcordanceCorrelationOptions& options = {});
};

}  // namespace cornu::metrics
