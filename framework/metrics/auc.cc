// SPDX-License-Identifier: Apache-2.0
#include "framework/metrics/auc.h"

#include <algorithm>

#include "framework/core/strings.h"
#include "framework/metrics/four_counts.h"
#include "framework/metrics/limits.h"
#include "framework/metrics/register.h"
#include "framework/model/constants.h"
#include "framework/model/layer.h"
#include "framework/ops/ops.h"

namespace cornu::metrics {
namespace {

std::string one_of(const char* what, std::string given, const std::vector<std::string>& known) {
  for (const std::string& name : known) {
    if (lower_case(name) == lower_case(given)) return name;
  }
  raise<InvalidArgument>("AUC: unknown {} '{}'.{}", what, given, did_you_mean(given, known));
}

// The given or evenly spaced thresholds, enclosed by thresholds just outside [0, 1].
std::vector<double> all_thresholds(const AUCOptions& options) {
  constexpr double kBeyond = 1e-7;
  std::vector<double> thresholds = options.thresholds;
  std::sort(thresholds.begin(), thresholds.end());
  if (thresholds.empty()) {
    const auto last = static_cast<double>(options.num_thresholds - 1);
    for (int64_t i = 1; i + 1 < options.num_thresholds; ++i) {
      thresholds.push_back(static_cast<double>(i) / last);
    }
  }
  thresholds.insert(thresholds.begin(), -kBeyond);
  thresholds.push_back(1.0 + kBeyond);
  return thresholds;
}

void check_options(const AUCOptions& options) {
  check<InvalidArgument>(
      !options.thresholds.empty() ||
          (options.num_thresholds > 1 && options.num_thresholds <= kMaxThresholds),
      "AUC: expected num_thresholds in [2, {}], got {}.", kMaxThresholds, options.num_thresholds);
  for (double threshold : options.thresholds) {
    check<InvalidArgument>(threshold >= 0 && threshold <= 1,
                           "AUC: expected thresholds in [0, 1], got {}.", threshold);
  }
  check<InvalidArgument>(options.multi_label || !options.num_labels,
                         "AUC: num_labels is for multi_label = true. Set both or neither.");
}

// Keras writes a tensor, but a list is accepted, too.
void read_label_weights(const Json& config, std::vector<double>& weights) {
  const Json* found = config.find("label_weights");
  if (!found) return;
  if (is_constant(*found)) {
    weights = ops::cast(parse_constant(*found), DType::Float64).to_vector<double>();
  } else {
    set_from_config(*found, weights);
  }
}

// Drop the first or last threshold.
Tensor without_first(const Tensor& x) { return ops::slice_axis(x, 0, 1); }
Tensor without_last(const Tensor& x) { return ops::slice_axis(x, 0, 0, -1); }
Tensor falls(const Tensor& x) { return without_last(x) - without_first(x); }

class AUCImpl : public FourCounts {
 public:
  explicit AUCImpl(const AUCOptions& options)
      : FourCounts(options.name.empty() ? unique_name("auc") : options.name, options.dtype),
        options_(options) {
    check_options(options);
    options_.curve = one_of("curve", options.curve, {"ROC", "PR", "PRGAIN"});
    options_.summation_method = one_of("summation_method", options.summation_method,
                                       {"interpolation", "minoring", "majoring"});
    rule_.thresholds = all_thresholds(options);
    rule_.evenly = evenly_distributed(rule_.thresholds);
    rule_.multi_label = options.multi_label;
    if (!options.label_weights.empty()) {
      label_weights_ = ops::cast(Tensor::from(options.label_weights), dtype());
      if (!options.multi_label) rule_.label_weights = ops::cast(label_weights_, DType::Float32);
    }
    if (!options.multi_label || options.num_labels) make_variables(options.num_labels);
  }

  void update_state(const Tensor& y_true, const Tensor& y_pred,
                    const Tensor& sample_weight) override {
    if (!has_counts()) {
      check<InvalidArgument>(y_pred.rank() == 2,
                             "expected y_pred of shape (batch, labels) with multi_label, got {}.",
                             y_pred.shape());
      make_variables(y_pred.shape().back());
    }
    const Tensor predictions = options_.from_logits ? ops::sigmoid(y_pred) : y_pred;
    add_counts(confusion_counts(rule_, y_true, predictions, sample_weight));
  }

  Tensor result() const override {
    if (!has_counts()) return Tensor::scalar(0.0f);
    const bool interpolated_pr =
        options_.curve == "PR" && options_.summation_method == "interpolation";
    const Tensor areas = interpolated_pr ? interpolated_pr_areas() : areas_of_curve();
    if (!options_.multi_label) return ops::sum(areas);
    const Tensor by_label = ops::sum(areas, 0);
    if (!label_weights_.defined()) return ops::mean(by_label);
    return ops::divide_no_nan(ops::sum(by_label * label_weights_), ops::sum(label_weights_));
  }

  std::string class_name() const override { return "AUC"; }

  Json get_config() const override {
    Json config = MetricImpl::get_config();
    ConfigWriter fields(config);
    fields("num_thresholds", static_cast<int64_t>(rule_.thresholds.size()));
    fields("curve", options_.curve);
    fields("summation_method", options_.summation_method);
    fields("multi_label", options_.multi_label);
    fields("num_labels", options_.num_labels);
    fields("label_weights", label_weights_.defined() ? serialize_constant(label_weights_) : Json());
    fields("from_logits", options_.from_logits);
    if (!options_.thresholds.empty()) fields("thresholds", options_.thresholds);
    return config;
  }

 private:
  void make_variables(const std::optional<int64_t>& labels) {
    Shape shape = {static_cast<int64_t>(rule_.thresholds.size())};
    if (labels) shape.push_back(*labels);
    make_counts(shape);
  }

  // The area of each segment of the curve.
  Tensor areas_of_curve() const {
    const auto [x, y] = curve();
    const Tensor left = without_last(y);
    const Tensor right = without_first(y);
    const std::string& method = options_.summation_method;
    const Tensor heights = method == "interpolation" ? (left + right) / 2.0
                           : method == "minoring"    ? ops::minimum(left, right)
                                                     : ops::maximum(left, right);
    return falls(x) * heights;
  }

  std::pair<Tensor, Tensor> curve() const {
    const auto [tp, fp, tn, fn] = counts();
    const Tensor recall = ops::divide_no_nan(tp, tp + fn);
    if (options_.curve == "ROC") return {ops::divide_no_nan(fp, fp + tn), recall};
    if (options_.curve == "PR") return {recall, ops::divide_no_nan(tp, tp + fp)};
    // Flach & Kull, "Precision-recall-gain curves", NeurIPS 2015. Without true positives, the
    // recall gain is 0 and the precision gain 1; negative recall gains count as 0.
    const Tensor scale = ops::divide_no_nan(tp + fn, tn + fp);
    const Tensor recall_gain = 1.0 - scale * ops::divide_no_nan(fn, tp);
    const Tensor precision_gain = 1.0 - scale * ops::divide_no_nan(fp, tp);
    const Tensor none = ops::equal(tp, 0.0);
    return {ops::maximum(ops::where(none, 0.0, recall_gain), 0.0),
            ops::where(none, 1.0, precision_gain)};
  }

  // Between two thresholds, true positives are interpolated linearly in the number of predicted
  // positives (Davis & Goadrich, "The relationship between precision-recall and ROC curves", ICML
  // 2006).
  Tensor interpolated_pr_areas() const {
    const auto [tp, fp, tn, fn] = counts();
    const Tensor p = tp + fp;
    const Tensor dtp = falls(tp);
    const Tensor next_tp = without_first(tp);
    const Tensor this_p = without_last(p);
    const Tensor next_p = without_first(p);
    const Tensor slope = ops::divide_no_nan(dtp, ops::maximum(falls(p), 0.0));
    const Tensor intercept = next_tp - slope * next_p;
    const Tensor both = ops::logical_and(this_p > 0.0, next_p > 0.0);
    const Tensor ratio =
        ops::where(both, ops::divide_no_nan(this_p, ops::maximum(next_p, 0.0)), 1.0);
    return ops::divide_no_nan(slope * (dtp + intercept * ops::log(ratio)),
                              ops::maximum(next_tp + without_first(fn), 0.0));
  }

  AUCOptions options_;
  ConfusionRule rule_;
  Tensor label_weights_;
};

}  // namespace

AUC::AUC(const AUCOptions& options) : Metric(std::make_shared<AUCImpl>(options)) {}

void register_auc(Registry<MetricFactory>& registry) {
  registry.add("AUC", [](const Json& config) -> Metric {
    AUCOptions options;
    ConfigReader fields(config);
    fields("num_thresholds", options.num_thresholds);
    fields("curve", options.curve);
    fields("summation_method", options.summation_method);
    read_base_options(config, options);
    fields("multi_label", options.multi_label);
    fields("num_labels", options.num_labels);
    fields("from_logits", options.from_logits);
    read_label_weights(config, options.label_weights);
    fields("thresholds", options.thresholds);
    return AUC(options);
  });
}

}  // namespace cornu::metrics
