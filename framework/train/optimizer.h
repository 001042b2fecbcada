// SPDX-License-Identifier: Apache-2.0
// The interface of optimizers and learning-rate schedules.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cornu/core/json.h"
#include "cornu/core/registry.h"
#include "cornu/core/tensors.h"
#include "cornu/core/variable.h"

namespace cornu {

// A learning rate as a function of the step. Written in ops.
class ScheduleImpl {
 public:
  virtual ~ScheduleImpl() = default;
  virtual Tensor operator()(const Tensor& step) const = 0;  // a float32 scalar of an int step
  virtual std::string class_name() const = 0;
  virtual Json get_config() const = 0;
};

// A number, or a schedule (optimizers::schedules::…).
class LearningRate {
 public:
  LearningRate(double value) : value_(value) {}  // NOLINT: implicit on purpose
  explicit LearningRate(std::shared_ptr<const ScheduleImpl> schedule)
      : schedule_(std::move(schedule)) {}
  const std::shared_ptr<const ScheduleImpl>& schedule() const { return schedule_; }
  double value() const { return value_; }

 private:
  double value_ = 0.001;
  std::shared_ptr<const ScheduleImpl> schedule_;
};

// Arguments that all optimizers share, in Keras's order; last in every optimizer's options.
struct OptimizerOptions {
  std::optional<double> weight_decay = {};
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<int64_t> gradient_accumulation_steps = {};
  std::string name = {};
};

// The update of one variable is what subclasses write; clipping, decay, averaging, accumulation and
// schedules are done here. All in ops: an update is part of the compiled training step, and a
// running average of several variables is one fused kernel a variable.
class OptimizerImpl {
 public:
  OptimizerImpl(LearningRate learning_rate, OptimizerOptions options);
  virtual ~OptimizerImpl() = default;

  // Creates the state for these variables (Keras's `build`); apply_gradients does it first.
  // InvalidArgument when it was built for others.
  void build(const std::vector<Variable>& variables);
  // Undefined gradients are skipped with a warning, InvalidArgument when all are.
  void apply_gradients(const std::vector<Tensor>& gradients,
                       const std::vector<Variable>& variables);

  // iteration, learning_rate, then slots in Keras's order.
  std::vector<Variable> variables() const;
  const Variable& iterations() const { return iterations_; }
  // The current rate. set: FailedPrecondition with a schedule.
  Tensor learning_rate() const;
  void set_learning_rate(double value);
  virtual std::string class_name() const = 0;
  virtual Json get_config() const;
  const std::string& name() const { return options_.name; }
  const OptimizerOptions& options() const { return options_; }

 protected:
  // Makes the slots of one variable, by calls of add_slot.
  virtual void build_variable(const Variable& variable, size_t index) = 0;
  // Assigns the new values of `variable` and its slots. `learning_rate` is a float32 scalar.
  virtual void update_step(const Tensor& gradient, const Variable& variable, size_t index,
                           const Tensor& learning_rate) = 0;
  // A zero-initialized slot like `variable`, named as Keras names it ("momentum" -> "w_momentum").
  Variable add_slot(const Variable& variable, const std::string& name, double initial = 0);
  // What a subclass needs once a step, before the variables (Adam's bias corrections).
  virtual void begin_step(const Tensor& learning_rate) { (void)learning_rate; }

 private:
  struct State;
  OptimizerOptions options_;
  LearningRate learning_rate_;
  Variable iterations_;
  std::shared_ptr<State> state_;
};

// A cheap handle on an optimizer; the classes of optimizers/ convert to it, and so does a name
// ("adam", "sgd", …; InvalidArgument with the nearest known one).
class Optimizer {
 public:
  Optimizer() = default;
  Optimizer(const char* name);         // NOLINT: implicit on purpose
  Optimizer(const std::string& name);  // NOLINT
  explicit Optimizer(std::shared_ptr<OptimizerImpl> impl) : impl_(std::move(impl)) {}

  explicit operator bool() const { return impl_ != nullptr; }
  OptimizerImpl& impl() const { return *impl_; }
  void apply_gradients(const std::vector<Tensor>& gradients,
                       const std::vector<Variable>& variables) const {
    impl().apply_gradients(gradients, variables);
  }
  std::vector<Variable> variables() const { return impl().variables(); }
  Tensor learning_rate() const { return impl().learning_rate(); }
  void set_learning_rate(double value) const { impl().set_learning_rate(value); }
  int64_t iterations() const { return impl().iterations().stored().item<int64_t>(); }

 private:
  std::shared_ptr<OptimizerImpl> impl_;
};

using OptimizerFactory = std::function<Optimizer(const Json& config)>;
using ScheduleFactory = std::function<LearningRate(const Json& config)>;
Registry<OptimizerFactory>& optimizer_registry();  // by class name; names resolve in lower case too
Registry<ScheduleFactory>& schedule_registry();
namespace internal {  // what register_all functions fill
Registry<OptimizerFactory>& raw_optimizer_registry();
Registry<ScheduleFactory>& raw_schedule_registry();
}  // namespace internal

Json serialize(const Optimizer& optimizer);
Optimizer optimizer_from_json(const Json& json);

}  // namespace cornu
