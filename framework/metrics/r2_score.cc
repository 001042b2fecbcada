// SPDX-License-Identifier: Apache-2.0
#include "framework/metrics/r2_score.h"

#include "framework/losses/operands.h"
#include "framework/metrics/register.h"
#include "framework/ops/ops.h"

namespace cornu::metrics {
namespace {

class R2ScoreImpl : public MetricImpl {
 public:
  explicit R2ScoreImpl(const R2ScoreOptions& options)
      : MetricImpl(options.name, options.dtype), options_(options) {
    const std::string& given = options.class_aggregation;
    check<InvalidArgument>(
        given.empty() || given == "uniform_average" || given == "variance_weighted_average",
        "R2Score: expected class_aggregation \"uniform_average\", \"variance_weighted_average\" or "
        "empty, got \"{}\".",
        given);
    check<InvalidArgument>(options.num_regressors >= 0,
                           "R2Score: expected num_regressors >= 0, got {}.",
                           options.num_regressors);
    num_samples_ = add_variable({}, "num_samples");
  }

  void update_state(const Tensor& y_true, const Tensor& y_pred,
                    const Tensor& sample_weight) override {
    const auto [truth, pred] = squeeze_or_expand_to_same_rank(typed(y_true), typed(y_pred));
    check<InvalidArgument>(truth.rank() == 2 && truth.shape() == pred.shape(),
                           "expected y_true and y_pred of shape (batch, outputs), got {} and {}. "
                           "Give a single output an axis of its own: ops::expand_dims(x, -1).",
                           y_true.shape(), y_pred.shape());
    if (!sum_.defined()) make_variables(truth.shape().back());
    check<InvalidArgument>(sum_.shape() == Shape{truth.shape().back()},
                           "expected {} outputs, as in the first update, got {}.",
                           sum_.shape().front(), truth.shape().back());
    Tensor weights = Tensor::scalar(1.0f);
    if (sample_weight.defined()) weights = typed(sample_weight);
    if (weights.rank() == 1) weights = with_rank(weights, 2);
    weights = ops::broadcast_to(weights, truth.shape());
    const Tensor weighted = truth * weights;
    add_to(sum_, ops::sum(weighted, 0));
    add_to(squared_sum_, ops::sum(truth * weighted, 0));
    add_to(residual_, ops::sum(ops::square(truth - pred) * weights, 0));
    add_to(count_, ops::sum(weights, 0));
    add_to(num_samples_, Tensor::scalar(static_cast<float>(truth.num_elements())));
  }

  Tensor result() const override {
    check<FailedPrecondition>(sum_.defined(),
                              "R2Score '{}': how many outputs there are depends on the "
                              "predictions. Update it before its result is asked for.",
                              name());
    const Tensor sum = sum_.value();
    const Tensor total = squared_sum_.value() - sum * (sum / count_.value());
    Tensor scores = 1.0 - residual_.value() / total;
    scores = ops::where(ops::isinf(scores), 0.0, scores);
    if (options_.class_aggregation == "uniform_average") {
      scores = ops::mean(scores);
    } else if (!options_.class_aggregation.empty()) {
      scores = ops::sum(total * scores) / ops::sum(total);
    }
    return options_.num_regressors == 0 ? scores : adjusted(scores);
  }

  std::string class_name() const override { return "R2Score"; }

  Json get_config() const override {
    Json config = MetricImpl::get_config();
    const std::string& aggregation = options_.class_aggregation;
    config.set("class_aggregation", aggregation.empty() ? Json() : Json(aggregation));
    config.set("num_regressors", options_.num_regressors);
    return config;
  }

 private:
  Tensor typed(const Tensor& x) const { return summable(x, dtype()); }

  void make_variables(int64_t outputs) {
    squared_sum_ = add_variable({outputs}, "squared_sum");
    sum_ = add_variable({outputs}, "sum");
    residual_ = add_variable({outputs}, "residual");
    count_ = add_variable({outputs}, "count");
  }

  Tensor adjusted(const Tensor& scores) const {
    const Tensor above = num_samples_.value() - 1.0;
    const auto regressors = static_cast<double>(options_.num_regressors);
    const Tensor score = 1.0 - (1.0 - scores) * above / (above - regressors);
    return ops::where(above > regressors, score, scores);
  }

  R2ScoreOptions options_;
  Variable num_samples_;
  Variable squared_sum_;
  Variable sum_;
  Variable residual_;
  Variable count_;
};

}  // namespace

template <class Fields>
void visit_fields(Fields& fields, R2ScoreOptions& options) {
  fields("class_aggregation", options.class_aggregation);
  fields("num_regressors", options.num_regressors);
}

R2Score::R2Score(const R2ScoreOptions& options) : Metric(std::make_shared<R2ScoreImpl>(options)) {}

void register_r2_score(Registry<MetricFactory>& registry) {
  registry.add("R2Score", metric_from_config<R2Score, R2ScoreOptions>);
}

}  // namespace cornu::metrics
