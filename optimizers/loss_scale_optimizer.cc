// SPDX-License-Identifier: Apache-2.0
#include "optimizers/loss_scale_optimizer.h"

#include "framework/ops/ops.h"

namespace cornu::optimizers {
namespace {

class LossScaleImpl : public OptimizerImpl {
 public:
  explicit LossScaleImpl(const LossScaleOptimizerOptions& options)
      : OptimizerImpl("LossScaleOptimizer", {.learning_rate = 0.0, .name = options.name}),
        inner_(options.inner_optimizer),
        initial_scale_(options.initial_scale),
        growth_steps_(options.dynamic_growth_steps) {
    check<InvalidArgument>(static_cast<bool>(inner_),
                           "LossScaleOptimizer '{}': expected an inner_optimizer, got none.",
                           name());
    check<InvalidArgument>(inner_.impl().class_name() != class_name(),
                           "LossScaleOptimizer '{}': expected an inner_optimizer that scales no "
                           "losses itself, got another LossScaleOptimizer.",
                           name());
    check<InvalidArgument>(initial_scale_ > 0,
                           "LossScaleOptimizer '{}': expected initial_scale > 0, got {}.", name(),
                           initial_scale_);
    check<InvalidArgument>(growth_steps_ > 0,
                           "LossScaleOptimizer '{}': expected dynamic_growth_steps > 0, got {}.",
                           name(), growth_steps_);
    set_loss_scale_factor(inner_.impl(), {});
    // Created here rather than in build as in Keras, since losses are scaled before the first step
    // builds the rest.
    step_counter_ = add_variable(name() + "/step_counter", {}, DType::Int64, 0);
    dynamic_scale_ = add_variable(name() + "/dynamic_scale", {}, DType::Float32, initial_scale_);
  }

  Tensor scale_loss(const Tensor& loss) const override {
    return loss * ops::cast(dynamic_scale_.value(), loss.dtype());
  }
  void finalize_variable_values() override { inner_.impl().finalize_variable_values(); }
  void exclude_from_weight_decay(const WeightDecayExclusions& exclusions) override {
    inner_.impl().exclude_from_weight_decay(exclusions);
  }
  const Variable& iterations() const override { return inner_.impl().iterations(); }
  int64_t num_updates() const override { return inner_.impl().num_updates(); }
  Tensor learning_rate() const override { return inner_.impl().learning_rate(); }
  void set_learning_rate(const LearningRate& value) override {
    inner_.impl().set_learning_rate(value);
  }
  std::vector<std::pair<std::string, Optimizer>> parts() const override {
    return {{"inner_optimizer", inner_}};
  }
  std::vector<Variable> unsaved_variables() const override {
    return inner_.impl().untracked_variables();
  }
  Json get_config() const override {
    return Json::object({{"name", name()},
                         {"inner_optimizer", serialize(inner_)},
                         {"initial_scale", initial_scale_},
                         {"dynamic_growth_steps", growth_steps_}});
  }

 protected:
  void build_extra() override { adopt(inner_.impl(), trainable_variables()); }

  void update(Pairs pairs) override {
    const Tensor scale = dynamic_scale_.value();
    const Tensor steps = step_counter_.value();
    Tensor finite;
    for (auto& [gradient, index] : pairs) {
      const Tensor own = ops::all(ops::isfinite(gradient));
      finite = finite.defined() ? ops::logical_and(finite, own) : own;
      gradient = gradient / ops::cast(scale, gradient.dtype());
    }
    assign_where(finite, [&] { OptimizerImpl::update(inner_.impl(), pairs); });
    const Tensor grows = ops::equal(steps, growth_steps_ - 1);
    step_counter_.assign(
        ops::where(ops::logical_and(finite, ops::logical_not(grows)), steps + 1, 0));
    dynamic_scale_.assign(ops::where(finite, ops::where(grows, scale * 2.0, scale), scale * 0.5));
  }

  void update_step(const Tensor&, const Variable&, size_t, std::span<const Tensor>) override {}

 private:
  Optimizer inner_;
  double initial_scale_;
  int64_t growth_steps_;
  Variable step_counter_;  // since the last change of scale or skipped step
  Variable dynamic_scale_;
};

}  // namespace

LossScaleOptimizer::LossScaleOptimizer(const LossScaleOptimizerOptions& options)
    : Optimizer(std::make_shared<LossScaleImpl>(options)) {}

Optimizer loss_scale_optimizer_from_config(const Json& config) {
  LossScaleOptimizerOptions options;
  if (const Json* inner = config.find("inner_optimizer")) {
    options.inner_optimizer = optimizer_from_json(*inner);
  }
  ConfigReader fields(config);
  fields("name", options.name);
  fields("initial_scale", options.initial_scale);
  fields("dynamic_growth_steps", options.dynamic_growth_steps);
  return LossScaleOptimizer(options);
}

}  // namespace cornu::optimizers
