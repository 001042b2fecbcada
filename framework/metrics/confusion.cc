// SPDX-License-Identifier: Apache-2.0
#include "framework/metrics/confusion.h"

#include <algorithm>
#include <cmath>

#include "framework/losses/operands.h"
#include "framework/metrics/register.h"
#include "framework/model/layer.h"
#include "framework/ops/ops.h"

namespace cornu::metrics {
namespace {

// Represents "no" among predictions (Keras's value).
constexpr double kNever = -1e10;

// Weights of positive and negative labels, with the shape of the predictions.
struct Weighted {
  Tensor predictions;
  Tensor positive;
  Tensor negative;
};

// Returns column `class_id`, keeping an axis of size 1.
Tensor column(const Tensor& x, int64_t class_id) {
  return ops::slice_axis(x, -1, class_id, class_id + 1);
}

// Sets predictions that aren't among the k largest of their row to "no".
Tensor only_top_k(const Tensor& x, int64_t k) {
  const int64_t classes = x.shape().back();
  const Tensor places = ops::top_k(x, std::min(k, classes)).second;
  const Tensor chosen = ops::sum(ops::one_hot(places, classes), -2);
  return ops::where(chosen > 0.0, x, kNever);
}

Weighted weighted_labels(const ConfusionRule& rule, const Tensor& y_true, const Tensor& y_pred,
                         const Tensor& sample_weight) {
  auto [pred, truth] = squeeze_or_expand_to_same_rank(ops::cast(y_pred, DType::Float32),
                                                      ops::cast(y_true, DType::Float32));
  check<InvalidArgument>(pred.shape() == truth.shape(),
                         "expected y_true of y_pred's shape {}, got {}. Reshape one of them.",
                         y_pred.shape(), y_true.shape());
  Tensor weights;
  if (sample_weight.defined()) {
    weights = ops::expand_dims(ops::cast(sample_weight, DType::Float32), -1);
    weights = squeeze_or_expand_to_same_rank(truth, weights, false).y_pred;
  }
  if (rule.top_k) pred = only_top_k(pred, *rule.top_k);
  if (rule.class_id) {
    check<InvalidArgument>(pred.rank() > 1 && *rule.class_id < pred.shape().back(),
                           "expected y_pred with a column for class_id {}, got shape {}.",
                           *rule.class_id, y_pred.shape());
    pred = column(pred, *rule.class_id);
    truth = column(truth, *rule.class_id);
  }
  if (rule.label_weights.defined()) {
    weights = weights.defined() ? weights * rule.label_weights : rule.label_weights;
  }
  const Tensor positive = ops::cast(ops::not_equal(truth, 0.0), DType::Float32);
  if (!weights.defined()) return {pred, positive, 1.0 - positive};
  return {pred, positive * weights, (1.0 - positive) * weights};
}

// Sums over the predictions above each threshold, by threshold (and label); `columns` labels are
// counted side by side.
struct Above {
  Tensor positive;
  Tensor negative;
};

Above sums_above_evenly(const ConfusionRule& rule, const Weighted& labels, int64_t columns) {
  const auto count = static_cast<int64_t>(rule.thresholds.size());
  // Prediction p is above thresholds 0 … ceil(p * (count - 1)) - 1. Bucket 0 holds predictions
  // above no threshold, bucket i + 1 those above threshold i but not i + 1.
  const Tensor p = ops::clip(labels.predictions, 0.0, 1.0);
  Tensor bucket = ops::ceil(p * static_cast<double>(count - 1));
  const double lowest = rule.thresholds.front() < 0 ? 1.0 : 0.0;
  bucket = ops::where(bucket > lowest, bucket, lowest);  // also for NaN
  Tensor index = ops::reshape(ops::cast(bucket, DType::Int32), {-1, columns});
  index = index * columns + ops::arange(columns);
  const Tensor values =
      ops::stack({ops::reshape(labels.positive, {-1}), ops::reshape(labels.negative, {-1})}, 1);
  const Tensor buckets = ops::segment_sum(values, ops::reshape(index, {-1}), (count + 1) * columns);
  const Tensor above = ops::cumsum(
      ops::slice_axis(ops::reshape(buckets, {count + 1, columns, 2}), 0, 1), 0, {.reverse = true});
  auto part = [&](int64_t which) {
    const Shape shape = rule.multi_label ? Shape{count, columns} : Shape{count};
    return ops::reshape(ops::slice_axis(above, -1, which, which + 1), shape);
  };
  return {part(0), part(1)};
}

Above sums_above(const ConfusionRule& rule, const Weighted& labels, int64_t columns) {
  const auto count = static_cast<int64_t>(rule.thresholds.size());
  std::vector<float> thresholds(rule.thresholds.begin(), rule.thresholds.end());
  auto flat = [&](const Tensor& x) { return ops::reshape(x, {1, -1, columns}); };
  const Tensor is_above = flat(labels.predictions) > Tensor::from(thresholds, {count, 1, 1});
  auto sum = [&](const Tensor& values) {
    const Tensor counted = ops::where(is_above, flat(values), 0.0);
    return rule.multi_label ? ops::sum(counted, 1) : ops::sum(counted, {1, 2});
  };
  return {sum(labels.positive), sum(labels.negative)};
}

std::vector<double> checked_thresholds(const char* class_name,
                                       const std::vector<double>& thresholds, double otherwise) {
  for (double threshold : thresholds) {
    check<InvalidArgument>(threshold >= 0 && threshold <= 1,
                           "{}: expected thresholds in [0, 1], got {}.", class_name, threshold);
  }
  return thresholds.empty() ? std::vector<double>{otherwise} : thresholds;
}

ConfusionRule rule_of(const std::vector<double>& thresholds) {
  return {.thresholds = thresholds, .evenly = evenly_distributed(thresholds)};
}

// A vector with a value per threshold, or a scalar if there is only one.
Tensor by_threshold(const Tensor& values) {
  return values.num_elements() == 1 ? ops::reshape(values, {}) : values;
}

Json thresholds_config(const std::vector<double>& thresholds) {
  if (thresholds.empty()) return nullptr;
  return thresholds.size() == 1 ? Json(thresholds[0]) : config_value(thresholds);
}

void read_thresholds(const Json& config, std::vector<double>& thresholds) {
  const Json* found = config.find("thresholds");
  if (found && !found->is_null()) set_from_config(*found, thresholds);
}

std::string name_or_unique(const std::string& name, const char* class_name) {
  return name.empty() ? unique_name(to_snake_case(class_name)) : name;
}

using CountMember = Tensor ConfusionCounts::*;

// One of the four counts.
class CountImpl : public MetricImpl {
 public:
  CountImpl(const char* class_name, CountMember count, const ConfusionOptions& options)
      : MetricImpl(name_or_unique(options.name, class_name), options.dtype),
        class_name_(class_name),
        count_(count),
        given_(options.thresholds),
        rule_(rule_of(checked_thresholds(class_name, options.thresholds, 0.5))),
        accumulator_(add_variable({static_cast<int64_t>(rule_.thresholds.size())}, "accumulator")) {
  }
  void update_state(const Tensor& y_true, const Tensor& y_pred,
                    const Tensor& sample_weight) override {
    add_to(accumulator_, confusion_counts(rule_, y_true, y_pred, sample_weight).*count_);
  }
  Tensor result() const override { return by_threshold(accumulator_.value()); }
  std::string class_name() const override { return class_name_; }
  Json get_config() const override {
    Json config = MetricImpl::get_config();
    config.set("thresholds", thresholds_config(given_));
    return config;
  }

 private:
  const char* class_name_;
  CountMember count_;
  std::vector<double> given_;
  ConfusionRule rule_;
  Variable accumulator_;
};

// True positives divided by their sum with another count: Precision and Recall.
class RatioImpl : public MetricImpl {
 public:
  RatioImpl(const char* class_name, CountMember other, const char* other_name,
            const PrecisionOptions& options)
      : MetricImpl(name_or_unique(options.name, class_name), options.dtype),
        class_name_(class_name),
        other_(other),
        options_(options),
        rule_(rule_of(
            checked_thresholds(class_name, options.thresholds, options.top_k ? kNever : 0.5))) {
    rule_.top_k = options.top_k;
    rule_.class_id = options.class_id;
    const auto count = static_cast<int64_t>(rule_.thresholds.size());
    true_positives_ = add_variable({count}, "true_positives");
    others_ = add_variable({count}, other_name);
  }
  void update_state(const Tensor& y_true, const Tensor& y_pred,
                    const Tensor& sample_weight) override {
    const ConfusionCounts counts = confusion_counts(rule_, y_true, y_pred, sample_weight);
    add_to(true_positives_, counts.true_positives);
    add_to(others_, counts.*other_);
  }
  Tensor result() const override {
    const Tensor right = true_positives_.value();
    return by_threshold(ops::divide_no_nan(right, right + others_.value()));
  }
  std::string class_name() const override { return class_name_; }
  Json get_config() const override {
    Json config = MetricImpl::get_config();
    config.set("thresholds", thresholds_config(options_.thresholds));
    ConfigWriter fields(config);
    fields("top_k", options_.top_k);
    fields("class_id", options_.class_id);
    return config;
  }

 private:
  const char* class_name_;
  CountMember other_;
  PrecisionOptions options_;
  ConfusionRule rule_;
  Variable true_positives_;
  Variable others_;
};

template <class Handle>
Metric count_from_config(const Json& config) {
  ConfusionOptions options;
  read_thresholds(config, options.thresholds);
  read_base_options(config, options);
  return Handle(options);
}

template <class Handle>
Metric ratio_from_config(const Json& config) {
  PrecisionOptions options;
  read_thresholds(config, options.thresholds);
  ConfigReader fields(config);
  fields("top_k", options.top_k);
  fields("class_id", options.class_id);
  read_base_options(config, options);
  return Handle(options);
}

}  // namespace

ConfusionCounts confusion_counts(const ConfusionRule& rule, const Tensor& y_true,
                                 const Tensor& y_pred, const Tensor& sample_weight) {
  const Weighted labels = weighted_labels(rule, y_true, y_pred, sample_weight);
  const int64_t columns = rule.multi_label ? labels.predictions.shape().back() : 1;
  const Above above =
      rule.evenly ? sums_above_evenly(rule, labels, columns) : sums_above(rule, labels, columns);
  auto total = [&](const Tensor& values) {
    return rule.multi_label ? ops::sum(ops::reshape(values, {-1, columns}), 0) : ops::sum(values);
  };
  return {.true_positives = above.positive,
          .false_positives = above.negative,
          .true_negatives = total(labels.negative) - above.negative,
          .false_negatives = total(labels.positive) - above.positive};
}

bool evenly_distributed(const std::vector<double>& thresholds) {
  if (thresholds.size() < 3) return false;
  const auto last = static_cast<double>(thresholds.size() - 1);
  for (size_t i = 0; i < thresholds.size(); ++i) {
    const double even = static_cast<double>(i) / last;
    // numpy.allclose with an absolute tolerance of 1e-7
    if (std::abs(thresholds[i] - even) > 1e-7 + 1e-5 * even) return false;
  }
  return true;
}

TruePositives::TruePositives(const ConfusionOptions& options)
    : Metric(std::make_shared<CountImpl>("TruePositives", &ConfusionCounts::true_positives,
                                         options)) {}
FalsePositives::FalsePositives(const ConfusionOptions& options)
    : Metric(std::make_shared<CountImpl>("FalsePositives", &ConfusionCounts::false_positives,
                                         options)) {}
TrueNegatives::TrueNegatives(const ConfusionOptions& options)
    : Metric(std::make_shared<CountImpl>("TrueNegatives", &ConfusionCounts::true_negatives,
                                         options)) {}
FalseNegatives::FalseNegatives(const ConfusionOptions& options)
    : Metric(std::make_shared<CountImpl>("FalseNegatives", &ConfusionCounts::false_negatives,
                                         options)) {}

Precision::Precision(const PrecisionOptions& options)
    : Metric(std::make_shared<RatioImpl>("Precision", &ConfusionCounts::false_positives,
                                         "false_positives", options)) {}
Recall::Recall(const PrecisionOptions& options)
    : Metric(std::make_shared<RatioImpl>("Recall", &ConfusionCounts::false_negatives,
                                         "false_negatives", options)) {}

void register_confusion(Registry<MetricFactory>& registry) {
  registry.add("TruePositives", count_from_config<TruePositives>);
  registry.add("FalsePositives", count_from_config<FalsePositives>);
  registry.add("TrueNegatives", count_from_config<TrueNegatives>);
  registry.add("FalseNegatives", count_from_config<FalseNegatives>);
  registry.add("Precision", ratio_from_config<Precision>);
  registry.add("Recall", ratio_from_config<Recall>);
}

}  // namespace cornu::metrics
