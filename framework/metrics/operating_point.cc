// SPDX-License-Identifier: Apache-2.0
#include "framework/metrics/operating_point.h"

#include "framework/metrics/four_counts.h"
#include "framework/metrics/limits.h"
#include "framework/metrics/register.h"
#include "framework/model/layer.h"
#include "framework/ops/ops.h"

namespace cornu::metrics {
namespace {

// A ratio of counts: true positives (or negatives) divided by their sum with another count.
struct Ratio {
  Tensor ConfusionCounts::*right;
  Tensor ConfusionCounts::*other;
  Tensor of(const ConfusionCounts& counts) const {
    return ops::divide_no_nan(counts.*right, counts.*right + counts.*other);
  }
};
constexpr Ratio kPrecision = {&ConfusionCounts::true_positives, &ConfusionCounts::false_positives};
constexpr Ratio kRecall = {&ConfusionCounts::true_positives, &ConfusionCounts::false_negatives};
constexpr Ratio kSpecificity = {&ConfusionCounts::true_negatives,
                                &ConfusionCounts::false_positives};

// Specifies one of the four metrics.
struct Point {
  const char* class_name;
  const char* bound;  // the name of the option, also in configs
  Ratio best;
  Ratio bounded;
};
constexpr Point kSensitivityAtSpecificity = {"SensitivityAtSpecificity", "specificity", kRecall,
                                             kSpecificity};
constexpr Point kSpecificityAtSensitivity = {"SpecificityAtSensitivity", "sensitivity",
                                             kSpecificity, kRecall};
constexpr Point kPrecisionAtRecall = {"PrecisionAtRecall", "recall", kPrecision, kRecall};
constexpr Point kRecallAtPrecision = {"RecallAtPrecision", "precision", kRecall, kPrecision};

ConfusionRule rule_of_point(int64_t num_thresholds, std::optional<int64_t> class_id) {
  ConfusionRule rule;
  rule.class_id = class_id;
  rule.evenly = num_thresholds > 1;
  if (!rule.evenly) rule.thresholds = {0.5};
  for (int64_t i = 0; rule.evenly && i < num_thresholds; ++i) {
    rule.thresholds.push_back(static_cast<double>(i) / static_cast<double>(num_thresholds - 1));
  }
  return rule;
}

class OperatingPointImpl : public FourCounts {
 public:
  // `Options`: those of any of the four metrics, whose first field is `bound`.
  template <class Options>
  OperatingPointImpl(const Point& point, std::optional<double> bound, const Options& options)
      : FourCounts(
            options.name.empty() ? unique_name(to_snake_case(point.class_name)) : options.name,
            options.dtype),
        point_(point),
        config_(config_of(options)) {
    check<InvalidArgument>(bound.has_value(), "{}: {} must be given: .{} = 0.5.", point.class_name,
                           point.bound, point.bound);
    check<InvalidArgument>(*bound >= 0 && *bound <= 1, "{}: expected {} in [0, 1], got {}.",
                           point.class_name, point.bound, *bound);
    check<InvalidArgument>(options.num_thresholds > 0 && options.num_thresholds <= kMaxThresholds,
                           "{}: expected num_thresholds in [1, {}], got {}.", point.class_name,
                           kMaxThresholds, options.num_thresholds);
    bound_ = *bound;
    make_counts({options.num_thresholds});
    rule_ = rule_of_point(options.num_thresholds, options.class_id);
  }

  void update_state(const Tensor& y_true, const Tensor& y_pred,
                    const Tensor& sample_weight) override {
    add_counts(confusion_counts(rule_, y_true, y_pred, sample_weight));
  }

  Tensor result() const override {
    const ConfusionCounts all = counts();
    const Tensor reached = point_.bounded.of(all) >= bound_;
    return ops::max(ops::where(reached, point_.best.of(all), 0.0));
  }

  std::string class_name() const override { return point_.class_name; }

  Json get_config() const override {
    Json config = MetricImpl::get_config();
    config.merge(config_);
    return config;
  }

 private:
  Point point_;
  Json config_;
  double bound_ = 0;
  ConfusionRule rule_;
};

template <class Fields, class Options>
void visit_counting(Fields& fields, Options& options) {
  fields("class_id", options.class_id);
  fields("num_thresholds", options.num_thresholds);
}

}  // namespace

template <class Fields>
void visit_fields(Fields& fields, SensitivityAtSpecificityOptions& options) {
  visit_counting(fields, options);
  fields("specificity", options.specificity);
}
template <class Fields>
void visit_fields(Fields& fields, SpecificityAtSensitivityOptions& options) {
  visit_counting(fields, options);
  fields("sensitivity", options.sensitivity);
}
template <class Fields>
void visit_fields(Fields& fields, PrecisionAtRecallOptions& options) {
  visit_counting(fields, options);
  fields("recall", options.recall);
}
template <class Fields>
void visit_fields(Fields& fields, RecallAtPrecisionOptions& options) {
  visit_counting(fields, options);
  fields("precision", options.precision);
}

SensitivityAtSpecificity::SensitivityAtSpecificity(const SensitivityAtSpecificityOptions& options)
    : Metric(std::make_shared<OperatingPointImpl>(kSensitivityAtSpecificity, options.specificity,
                                                  options)) {}

SpecificityAtSensitivity::SpecificityAtSensitivity(const SpecificityAtSensitivityOptions& options)
    : Metric(std::make_shared<OperatingPointImpl>(kSpecificityAtSensitivity, options.sensitivity,
                                                  options)) {}

PrecisionAtRecall::PrecisionAtRecall(const PrecisionAtRecallOptions& options)
    : Metric(std::make_shared<OperatingPointImpl>(kPrecisionAtRecall, options.recall, options)) {}

RecallAtPrecision::RecallAtPrecision(const RecallAtPrecisionOptions& options)
    : Metric(std::make_shared<OperatingPointImpl>(kRecallAtPrecision, options.precision, options)) {
}

void register_operating_point(Registry<MetricFactory>& registry) {
  registry.add("SensitivityAtSpecificity",
               metric_from_config<SensitivityAtSpecificity, SensitivityAtSpecificityOptions>);
  registry.add("SpecificityAtSensitivity",
               metric_from_config<SpecificityAtSensitivity, SpecificityAtSensitivityOptions>);
  registry.add("PrecisionAtRecall",
               metric_from_config<PrecisionAtRecall, PrecisionAtRecallOptions>);
  registry.add("RecallAtPrecision",
               metric_from_config<RecallAtPrecision, RecallAtPrecisionOptions>);
}

}  // namespace cornu::metrics
