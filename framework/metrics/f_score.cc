// SPDX-License-Identifier: Apache-2.0
#include "framework/metrics/f_score.h"

#include <algorithm>
#include <array>
#include <utility>

#include "framework/losses/operands.h"
#include "framework/metrics/register.h"
#include "framework/ops/ops.h"

namespace cornu::metrics {
namespace {

// Added to denominators (keras.config.epsilon()).
constexpr double kScoreEpsilon = 1e-7;

void check_options(const char* class_name, const FBetaScoreOptions& options) {
  constexpr std::array<const char*, 4> kAverages = {"", "micro", "macro", "weighted"};
  check<InvalidArgument>(
      std::find(kAverages.begin(), kAverages.end(), options.average) != kAverages.end(),
      "{}: expected average \"micro\", \"macro\", \"weighted\" or empty, got \"{}\".", class_name,
      options.average);
  check<InvalidArgument>(options.beta > 0, "{}: expected beta > 0, got {}.", class_name,
                         options.beta);
  check<InvalidArgument>(!options.threshold || (*options.threshold > 0 && *options.threshold <= 1),
                         "{}: expected a threshold in (0, 1], got {}.", class_name,
                         options.threshold.value_or(0));
}

class FBetaScoreImpl : public MetricImpl {
 public:
  FBetaScoreImpl(const char* class_name, const FBetaScoreOptions& options, Json config)
      : MetricImpl(options.name, options.dtype),
        class_name_(class_name),
        options_(options),
        config_(std::move(config)) {
    check_options(class_name, options);
    check<InvalidArgument>(is_floating(dtype()),
                           "{} '{}': expected a floating-point dtype, got {}: scores lie between 0 "
                           "and 1.",
                           class_name, name(), to_string(dtype()));
  }

  void update_state(const Tensor& y_true, const Tensor& y_pred,
                    const Tensor& sample_weight) override {
    check<InvalidArgument>(
        y_true.rank() == 2 && y_pred.shape() == y_true.shape(),
        "expected y_true and y_pred of shape (batch, classes), got {} and {}. Make class indices "
        "one-hot vectors with ops::one_hot.",
        y_true.shape(), y_pred.shape());
    if (!true_positives_.defined()) make_variables(y_pred.shape().back());
    check<InvalidArgument>(classes_ == y_pred.shape().back(),
                           "expected {} classes, as in the first update, got {}.", classes_,
                           y_pred.shape().back());
    const Tensor truth = typed(y_true);
    const Tensor decided = decide(typed(y_pred));
    Tensor weights;
    if (sample_weight.defined()) weights = with_rank(typed(sample_weight), 2);
    auto add = [&](const Variable& variable, const Tensor& values) {
      const Tensor counted = weights.defined() ? values * weights : values;
      add_to(variable, is_micro() ? ops::sum(counted) : ops::sum(counted, 0));
    };
    add(true_positives_, decided * truth);
    add(false_positives_, decided * (1.0 - truth));
    add(false_negatives_, (1.0 - decided) * truth);
    add(intermediate_weights_, truth);
  }

  Tensor result() const override {
    check<FailedPrecondition>(true_positives_.defined(),
                              "{} '{}': how many classes there are depends on the predictions. "
                              "Update it before its result is asked for.",
                              class_name_, name());
    return ops::cast(averaged(scores()), dtype());
  }

  std::string class_name() const override { return class_name_; }

  Json get_config() const override {
    Json config = MetricImpl::get_config();
    config.set("average", options_.average.empty() ? Json() : Json(options_.average));
    config.merge(config_);
    return config;
  }

 private:
  bool is_micro() const { return options_.average == "micro"; }

  Tensor typed(const Tensor& x) const { return summable(x, dtype()); }

  Tensor scores() const {
    const Tensor right = typed(true_positives_);
    const Tensor precision = right / (right + typed(false_positives_) + kScoreEpsilon);
    const Tensor recall = right / (right + typed(false_negatives_) + kScoreEpsilon);
    const double square = options_.beta * options_.beta;
    return precision * recall / (precision * square + recall + kScoreEpsilon) * (1.0 + square);
  }

  Tensor averaged(const Tensor& scores) const {
    if (options_.average.empty()) return scores;
    if (options_.average != "weighted") return ops::mean(scores);
    const Tensor weights = typed(intermediate_weights_);
    return ops::sum(scores * (weights / (ops::sum(weights) + kScoreEpsilon)));
  }

  void make_variables(int64_t classes) {
    classes_ = classes;
    const Shape shape = is_micro() ? Shape{} : Shape{classes};
    true_positives_ = add_variable(shape, "true_positives", 0, dtype());
    false_positives_ = add_variable(shape, "false_positives", 0, dtype());
    false_negatives_ = add_variable(shape, "false_negatives", 0, dtype());
    intermediate_weights_ = add_variable(shape, "intermediate_weights", 0, dtype());
  }

  // 1 where a prediction is positive, else 0.
  Tensor decide(const Tensor& y_pred) const {
    if (options_.threshold) return ops::cast(y_pred > *options_.threshold, y_pred.dtype());
    const Tensor largest = y_pred >= ops::max(y_pred, -1, true);
    return ops::cast(ops::logical_and(largest, ops::abs(y_pred) > 1e-9), y_pred.dtype());
  }

  const char* class_name_;
  FBetaScoreOptions options_;
  Json config_;
  int64_t classes_ = 0;  // unknown before the first update
  Variable true_positives_;
  Variable false_positives_;
  Variable false_negatives_;
  Variable intermediate_weights_;
};

template <class Handle, class Options>
Metric f_score_from_config(const Json& config) {
  Options options;
  ConfigReader fields(config);
  fields("average", options.average);
  read_base_options(config, options);
  visit_fields(fields, options);
  return Handle(options);
}

}  // namespace

// `average` is handled separately: it is null in configs if empty.
template <class Fields>
void visit_fields(Fields& fields, FBetaScoreOptions& options) {
  fields("beta", options.beta);
  fields("threshold", options.threshold);
}
template <class Fields>
void visit_fields(Fields& fields, F1ScoreOptions& options) {
  fields("threshold", options.threshold);
}

FBetaScore::FBetaScore(const FBetaScoreOptions& options)
    : Metric(std::make_shared<FBetaScoreImpl>("FBetaScore", options, config_of(options))) {}

F1Score::F1Score(const F1ScoreOptions& options)
    : Metric(std::make_shared<FBetaScoreImpl>("F1Score",
                                              FBetaScoreOptions{.average = options.average,
                                                                .threshold = options.threshold,
                                                                .name = options.name,
                                                                .dtype = options.dtype},
                                              config_of(options))) {}

void register_f_score(Registry<MetricFactory>& registry) {
  registry.add("FBetaScore", f_score_from_config<FBetaScore, FBetaScoreOptions>);
  registry.add("F1Score", f_score_from_config<F1Score, F1ScoreOptions>);
}

}  // namespace cornu::metrics
