// SPDX-License-Identifier: Apache-2.0
#include "framework/metrics/reduction.h"

#include "framework/core/user_code.h"
#include "framework/losses/operands.h"
#include "framework/metrics/register.h"
#include "framework/ops/ops.h"
#include "framework/strategy/replica_context.h"

namespace cornu::metrics {
namespace {

// Sums of values and of weights to accumulate.
struct Sums {
  Tensor total;
  Tensor count;
};

std::vector<int64_t> axes_from(int64_t first, int64_t rank) {
  std::vector<int64_t> axes;
  for (int64_t axis = first; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

int64_t examples(const Tensor& x) { return x.rank() == 0 ? 1 : x.shape().front(); }

// The number by which an example's values (or weights) are divided for their mean.
double per_example(const Tensor& x) {
  return static_cast<double>(x.num_elements()) /
         static_cast<double>(std::max<int64_t>(1, examples(x)));
}

// Sums over examples the mean, or without `average` the sum, of each example's elements.
Tensor sum_of_examples(const Tensor& x, bool average) {
  const Tensor sum = ops::sum(x);
  const double divisor = per_example(x);
  return average && divisor > 1 ? sum / divisor : sum;
}

Sums weighted_sums(const Tensor& given, const Tensor& sample_weight, bool average, DType dtype) {
  const Tensor typed = summable(given, dtype);
  if (given.rank() == 0 && !sample_weight.defined() && replicas_in_sync() > 1) {
    // A single value for a replica's part of the batch: the replicas' values together count as one.
    return {by_share_of_examples(typed), by_share_of_examples(Tensor::scalar(1.0f))};
  }
  if (!sample_weight.defined()) {
    const Tensor count(static_cast<double>(examples(typed)));
    return {sum_of_examples(typed, average), ops::cast(count, typed.dtype())};
  }
  const Tensor weights = summable(masked_weights(given.mask(), sample_weight, dtype), dtype);
  auto [values, matched] = squeeze_or_expand_to_same_rank(typed, weights);
  if (values.rank() > matched.rank()) {
    const auto inner = axes_from(matched.rank(), values.rank());
    values = average ? ops::mean(values, inner) : ops::sum(values, inner);
  }
  matched = ops::broadcast_to(matched, values.shape());
  return {sum_of_examples(values * matched, average), sum_of_examples(matched, average)};
}

// The sum of values. Has a variable `total`.
class SumImpl : public MetricImpl {
 public:
  explicit SumImpl(const MetricOptions& options)
      : MetricImpl(options.name, options.dtype), total_(add_variable({}, "total", 0, dtype())) {}
  void update_state(const Tensor&, const Tensor&, const Tensor&) override {
    raise<InvalidArgument>("expected values, got y_true and y_pred.");
  }
  void update_values(const Tensor& values, const Tensor& sample_weight) override {
    add_to(total_, weighted_sums(values, sample_weight, false, dtype()).total);
  }
  Tensor result() const override { return total_.value(); }
  std::string class_name() const override { return "Sum"; }

 private:
  Variable total_;
};

MetricOptions named(const MetricOptions& options, const char* otherwise) {
  return {.name = options.name.empty() ? otherwise : options.name, .dtype = options.dtype};
}

}  // namespace

MeanImpl::MeanImpl(const MetricOptions& options)
    : MetricImpl(options.name, options.dtype),
      total_(add_variable({}, "total", 0, dtype())),
      count_(add_variable({}, "count", 0, dtype())) {}

void MeanImpl::update_state(const Tensor&, const Tensor&, const Tensor&) {
  raise<InvalidArgument>(
      "expected values, got y_true and y_pred. Use metrics::MeanMetricWrapper for a function of "
      "both.");
}

void MeanImpl::update_values(const Tensor& values, const Tensor& sample_weight) {
  const Sums sums = weighted_sums(values, sample_weight, true, dtype());
  add_to(total_, sums.total);
  add_to(count_, sums.count);
}

Tensor MeanImpl::result() const { return ops::divide_no_nan(total_.value(), count_.value()); }

MeanOfFunction::MeanOfFunction(std::string class_name, const MetricOptions& options,
                               MeanMetricWrapper::Function function, Json config)
    : MeanImpl(options),
      class_name_(std::move(class_name)),
      function_(std::move(function)),
      config_(std::move(config)) {}

void MeanOfFunction::update_state(const Tensor& y_true, const Tensor& y_pred,
                                  const Tensor& sample_weight) {
  const Tensor values = function_(y_true, y_pred);
  // A function that returns a single value has none at the positions of a mask.
  const Tensor mask = values.rank() == 0 ? Tensor() : y_pred.mask();
  MeanImpl::update_values(values, masked_weights(mask, sample_weight, dtype()));
}

void MeanOfFunction::update_values(const Tensor& values, const Tensor& sample_weight) {
  MetricImpl::update_values(values, sample_weight);
}

Json MeanOfFunction::get_config() const {
  Json config = MetricImpl::get_config();
  config.merge(config_);
  return config;
}

std::shared_ptr<MetricImpl> mean_of_function(const char* class_name, MetricOptions options,
                                             MeanMetricWrapper::Function function, Json config) {
  if (options.name.empty()) options.name = to_snake_case(class_name);
  return std::make_shared<MeanOfFunction>(class_name, options, std::move(function),
                                          std::move(config));
}

Mean::Mean(const MetricOptions& options)
    : Metric(std::make_shared<MeanImpl>(named(options, "mean"))) {}

void Mean::update_state(const Tensor& values, const Tensor& sample_weight) const {
  impl().update_values(values, sample_weight);
}

Sum::Sum(const MetricOptions& options) : Metric(std::make_shared<SumImpl>(named(options, "sum"))) {}

void Sum::update_state(const Tensor& values, const Tensor& sample_weight) const {
  impl().update_values(values, sample_weight);
}

MeanMetricWrapper::MeanMetricWrapper(Function function, const MetricOptions& options)
    : Metric(std::make_shared<MeanOfFunction>("", named(options, "mean_metric_wrapper"),
                                              given_function(std::move(function), "Metric"))) {}

void register_reduction(Registry<MetricFactory>& registry) {
  registry.add("Mean", metric_from_config<Mean>);
  registry.add("Sum", metric_from_config<Sum>);
}

}  // namespace cornu::metrics
