// SPDX-License-Identifier: Apache-2.0
#include "framework/metrics/correlation.h"

#include "framework/losses/operands.h"
#include "framework/metrics/reduction.h"
#include "framework/metrics/register.h"
#include "framework/ops/ops.h"

namespace cornu::metrics {
namespace {

// Scales to mean 0 and standard deviation 1.
Tensor standardized(const Tensor& x, int64_t axis) {
  const Tensor centered = x - ops::mean(x, axis, true);
  return centered / ops::std(centered, axis, true);
}

// A metric of one of the functions below.
template <class Options>
std::shared_ptr<MetricImpl> mean_correlation(const char* class_name, const Options& options,
                                             Tensor (*function)(const Tensor&, const Tensor&,
                                                                int64_t)) {
  return std::make_shared<MeanOfFunction>(
      class_name, base_options(options),
      [function, axis = options.axis](const Tensor& y_true, const Tensor& y_pred) {
        return function(y_true, ops::cast(y_pred, computed_in(y_pred.dtype())), axis);
      },
      config_of(options));
}

}  // namespace

Tensor pearson_correlation(const Tensor& y_true, const Tensor& y_pred, int64_t axis) {
  const auto [truth, pred] = operands(y_true, y_pred);
  return ops::mean(standardized(truth, axis) * standardized(pred, axis), axis);
}

Tensor concordance_correlation(const Tensor& y_true, const Tensor& y_pred, int64_t axis) {
  constexpr double kEpsilon = 1e-7;  // keras.config.epsilon()
  const auto [truth, pred] = operands(y_true, y_pred);
  const Tensor truth_mean = ops::mean(truth, axis, true);
  const Tensor pred_mean = ops::mean(pred, axis, true);
  const Tensor covariance = (truth - pred_mean) * (pred - pred_mean);
  const Tensor norm = ops::var(truth, axis, true) + ops::var(pred, axis, true) +
                      ops::square(truth_mean - pred_mean);
  return ops::mean(2.0 * covariance / (norm + kEpsilon), axis);
}

template <class Fields>
void visit_fields(Fields& fields, PearsonCorrelationOptions& options) {
  fields("axis", options.axis);
}
template <class Fields>
void visit_fields(Fields& fields, ConcordanceCorrelationOptions& options) {
  fields("axis", options.axis);
}

PearsonCorrelation::PearsonCorrelation(const PearsonCorrelationOptions& options)
    : Metric(mean_correlation("PearsonCorrelation", options, pearson_correlation)) {}

ConcordanceCorrelation::ConcordanceCorrelation(const ConcordanceCorrelationOptions& options)
    : Metric(mean_correlation("ConcordanceCorrelation", options, concordance_correlation)) {}

void register_correlation(Registry<MetricFactory>& registry) {
  registry.add("PearsonCorrelation",
               metric_from_config<PearsonCorrelation, PearsonCorrelationOptions>);
  registry.add("ConcordanceCorrelation",
               metric_from_config<ConcordanceCorrelation, ConcordanceCorrelationOptions>);
}

}  // namespace cornu::metrics
