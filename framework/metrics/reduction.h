// SPDX-License-Identifier: Apache-2.0
// Metrics that average or sum values, or a function of labels and predictions.
#pragma once

#include <string>

#include "framework/metrics/metric.h"

namespace cornu::metrics {

// The weighted mean of values. Axes after the first are averaged first, so that each example counts
// once (Keras's rule); a scalar counts as one example. 0 if there are no values. Values and weights
// are cast to the dtype; an integer dtype truncates them.
class Mean final : public Metric {
 public:
  explicit Mean(const MetricOptions& options = {});
  void update_state(const Tensor& values, const Tensor& sample_weight = {}) const;
};

// The weighted sum of values.
class Sum final : public Metric {
 public:
  explicit Sum(const MetricOptions& options = {});
  void update_state(const Tensor& values, const Tensor& sample_weight = {}) const;
};

// The mean of a function of labels and predictions that returns a value per example or position.
// The dtype is that of the mean: labels and predictions are passed to the function as they are. A
// metric of a user's function can't be saved.
class MeanMetricWrapper final : public Metric {
 public:
  explicit MeanMetricWrapper(Function function, const MetricOptions& options = {});
};

// ---- for metrics in this directory ----

// Has variables `total` and `count`, with the metric's dtype.
class MeanImpl : public MetricImpl {
 public:
  explicit MeanImpl(const MetricOptions& options);
  void update_state(const Tensor& y_true, const Tensor& y_pred,
                    const Tensor& sample_weight) override;
  void update_values(const Tensor& values, const Tensor& sample_weight) override;
  Tensor result() const override;
  std::string class_name() const override { return "Mean"; }

 private:
  Variable total_;
  Variable count_;
};

// The mean of a function, under its own class name. `config`: what get_config adds.
class MeanOfFunction : public MeanImpl {
 public:
  MeanOfFunction(std::string class_name, const MetricOptions& options,
                 MeanMetricWrapper::Function function, Json config = Json::object());
  void update_state(const Tensor& y_true, const Tensor& y_pred,
                    const Tensor& sample_weight) override;
  void update_values(const Tensor& values, const Tensor& sample_weight) override;
  std::string class_name() const override { return class_name_; }
  Json get_config() const override;

 private:
  std::string class_name_;
  MeanMetricWrapper::Function function_;
  Json config_;
};

// Named after the class in snake_case if the options have no name.
std::shared_ptr<MetricImpl> mean_of_function(const char* class_name, MetricOptions options,
                                             MeanMetricWrapper::Function function,
                                             Json config = Json::object());

}  // namespace cornu::metrics
