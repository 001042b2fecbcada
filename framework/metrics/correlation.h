// SPDX-License-Identifier: Apache-2.0
// Correlation between labels and predictions.
#pragma once

#include <cstdint>
#include <string>

#include "framework/metrics/metric.h"

namespace cornu::metrics {

// The covariance of y_true and y_pred, which must have the same shape, along `axis`, divided by
// their standard deviations: 1 if one is an increasing linear function of the other, -1 if
// decreasing. NaN if one of them is constant.
Tensor pearson_correlation(const Tensor& y_true, const Tensor& y_pred, int64_t axis = -1);

// Lin, "A concordance correlation coefficient to evaluate reproducibility", Biometrics 1989: 1 only
// if both are equal, since means and variances count, too. As implemented in Keras.
Tensor concordance_correlation(const Tensor& y_true, const Tensor& y_pred, int64_t axis = -1);

struct PearsonCorrelationOptions {
  std::string name = "pearson_correlation";
  DTypeName dtype = {};
  int64_t axis = -1;  // correlated along this axis; 0: within each batch, not across batches
};
// The mean of pearson_correlation over all other axes and batches.
class PearsonCorrelation final : public Metric {
 public:
  explicit PearsonCorrelation(const PearsonCorrelationOptions& options = {});
};

struct ConcordanceCorrelationOptions {
  std::string name = "concordance_correlation";
  DTypeName dtype = {};
  int64_t axis = -1;
};
// The mean of concordance_correlation over all other axes and batches.
class ConcordanceCorrelation final : public Metric {
 public:
  explicit ConcordanceCorrelation(const ConcordanceCorrelationOptions& options = {});
};

}  // namespace cornu::metrics
