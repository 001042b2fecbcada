// SPDX-License-Identifier: Apache-2.0
// The interface of optimizers and learning-rate schedules.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "framework/core/handle.h"
#include "framework/core/json.h"
#include "framework/core/registry.h"
#include "framework/core/tensors.h"
#include "framework/core/variable.h"
#include "framework/model/serialized.h"

namespace cornu {

// A learning rate as a function of the step. Implemented with ops. Your own are created with
// make_schedule<T>(…).
class ScheduleImpl {
 public:
  virtual ~ScheduleImpl() = default;
  virtual Tensor operator()(const Tensor& step) const = 0;  // integer to float32 scalar
  virtual std::string class_name() const = 0;
  virtual Json get_config() const = 0;
};

// A number or a schedule (optimizers::schedules::…, which convert to it).
class LearningRate {
 public:
  LearningRate(double value) : value_(value) {}  // NOLINT: implicit on purpose
  explicit LearningRate(std::shared_ptr<const ScheduleImpl> schedule)
      : schedule_(std::move(schedule)) {}
  const std::shared_ptr<const ScheduleImpl>& schedule() const { return schedule_; }
  double value() const { return value_; }
  // Returns the rate at a step, a float32 scalar.
  Tensor operator()(const Tensor& step) const;

 private:
  double value_ = 0.001;
  std::shared_ptr<const ScheduleImpl> schedule_;
};

// For visit_fields of options: a number or a serialized schedule.
Json config_value(const LearningRate& learning_rate);
void set_from_config(const Json& json, LearningRate& learning_rate);

// Arguments that all optimizers share, in Keras's order. Each optimizer's options struct repeats
// them alongside its own, so that users can set them together: Adam({.learning_rate = 1e-4,
// .clipnorm = 1.0}).
struct OptimizerOptions {
  LearningRate learning_rate = 0.001;
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

  // Reads OptimizerImpl::get_config(), with further entries or without; keys that it lacks keep
  // their defaults. For registered optimizers of your own.
  static OptimizerOptions from_config(const Json& config);
};

// Calls visit(name, option of each of `options`...) for the shared arguments, in the order of
// Keras's configs. The single list of these arguments, used for configs and for copies between
// options structs.
template <class Visit, class... Options>
void each_shared_option(Visit&& visit, Options&... options) {
  visit("name", options.name...);
  visit("learning_rate", options.learning_rate...);
  visit("weight_decay", options.weight_decay...);
  visit("clipnorm", options.clipnorm...);
  visit("global_clipnorm", options.global_clipnorm...);
  visit("clipvalue", options.clipvalue...);
  visit("use_ema", options.use_ema...);
  visit("ema_momentum", options.ema_momentum...);
  visit("ema_overwrite_frequency", options.ema_overwrite_frequency...);
  visit("loss_scale_factor", options.loss_scale_factor...);
  visit("gradient_accumulation_steps", options.gradient_accumulation_steps...);
}

// The variables excluded from weight decay.
struct WeightDecayExclusions {
  std::vector<Variable> var_list = {};
  std::vector<std::string> var_names = {};  // substrings of variable names
};

class Optimizer;

// Base class of optimizers. Subclasses implement the update of a single variable; clipping, decay,
// averaging, accumulation and schedules are handled here. Everything is implemented with ops: an
// update is part of the compiled training step and becomes a single elementwise kernel per
// variable. Your own are created with make_optimizer<T>(…).
//
// A slot is an additional variable, initially zero, for each trained variable (e.g. its momentum).
// Not thread-safe.
class OptimizerImpl {
 public:
  // `class_name` is Keras's ("Adam"), or "package>Name" for users' optimizers. Throws
  // InvalidArgument when the shared options contradict each other.
  OptimizerImpl(std::string class_name, OptimizerOptions options);
  virtual ~OptimizerImpl();

  // Creates the state for these variables (Keras's `build`); apply_gradients does so first. Once
  // built, the optimizer can train only those variables.
  void build(const std::vector<Variable>& variables);
  bool built() const { return built_; }
  // Performs one update step. With several replicas, gradients are first summed over replicas so
  // that all make the same update; losses must therefore be parts of the whole batch's loss, as
  // returned by Loss and compute_average_loss. Variables whose gradient is undefined are left
  // unchanged, with a warning the first time. Throws InvalidArgument when all gradients are
  // undefined, when counts or shapes differ, or for a variable that the optimizer wasn't built for;
  // FailedPrecondition in the scope of a strategy with several replicas, outside its steps.
  void apply_gradients(const std::vector<Tensor>& gradients,
                       const std::vector<Variable>& variables);
  // Returns the loss to differentiate, multiplied by loss_scale_factor if there is one.
  // apply_gradients divides gradients by the factor.
  virtual Tensor scale_loss(const Tensor& loss) const;
  // With use_ema: replaces the trained variables by their averages, as fit does at its end.
  virtual void finalize_variable_values();
  // Throws FailedPrecondition once built.
  virtual void exclude_from_weight_decay(const WeightDecayExclusions& exclusions);

  // Sets the values of variables(), in their order. Throws FailedPrecondition before build, and
  // InvalidArgument, without changing anything, for a different number of values, for differing
  // shapes and for non-numeric values.
  void set_weights(const std::vector<Tensor>& weights);
  // Stores variables() under their numbers, "0", "1", …, and loads them again. If the number of
  // variables differs, nothing is loaded and a warning is logged, as in Keras.
  void save_own_variables(std::map<std::string, Tensor>& store) const;
  void load_own_variables(const std::map<std::string, Tensor>& store);

  // iteration, learning_rate (unless there is a schedule), then slots in Keras's order, followed by
  // the variables of the inner optimizers (parts()).
  std::vector<Variable> variables() const;
  const std::vector<Variable>& trainable_variables() const { return trained_; }
  // With use_ema, once built: the averages of trainable_variables(), in the same order.
  const std::vector<Variable>& averages() const { return averages_; }
  virtual const Variable& iterations() const { return iterations_; }
  // Number of updates of the variables so far; with gradient_accumulation_steps, fewer than
  // iterations().
  virtual int64_t num_updates() const;
  // Returns the current learning rate, a float32 scalar.
  virtual Tensor learning_rate() const;
  // Sets the learning rate to a number, which throws FailedPrecondition if there is a schedule, or
  // to a schedule. A schedule replaces either kind from the next step on, and removes the variable
  // of the rate. A user's functions that were traced before keep the previous rate, as in Keras.
  virtual void set_learning_rate(const LearningRate& value);
  // Incremented by changes that invalidate traced steps, such as new schedules, including those of
  // parts().
  int64_t version() const;
  // For the state of a run, whose schedules may have been set after it began: the optimizer's
  // schedule, null for a number, followed by those of parts(). restore_schedules restores them,
  // along with the variables of rates that were numbers.
  Json schedules() const;
  void restore_schedules(const Json& saved);
  // The inner optimizers to which this one delegates updates, under the names of their groups in
  // files.
  virtual std::vector<std::pair<std::string, Optimizer>> parts() const;
  // Variables of this optimizer and its parts that files of models omit.
  virtual std::vector<Variable> unsaved_variables() const { return {}; }
  // Those of variables() that Keras creates untracked when a LossScaleOptimizer builds this
  // optimizer, so that its files omit them.
  virtual std::vector<Variable> untracked_variables() const { return {}; }
  const std::string& class_name() const { return class_name_; }
  virtual Json get_config() const;
  const std::string& name() const { return options_.name; }
  const OptimizerOptions& options() const { return options_; }

 protected:
  struct Slot {
    std::string name;  // "momentum"
    double initial = 0;
  };
  // The slots, in groups. A group is created variable by variable (momentum and velocity of the
  // first, of the second, …), and the groups one after another. This determines the order of
  // variables() and of files.
  virtual std::vector<std::vector<Slot>> slot_groups() const { return {}; }
  // Creates state in addition to the slots, after them, using add_variable and add_like.
  virtual void build_extra() {}
  // Scalars shared by the updates of all variables, computed once per step: by default the learning
  // rate (for Adam, with bias correction). Takes and returns float32.
  virtual std::vector<Tensor> step_terms(const Tensor& learning_rate) { return {learning_rate}; }
  // Assigns the new values of `variable` and its slots. `gradient`, and `terms` from step_terms,
  // are converted to the variable's dtype.
  virtual void update_step(const Tensor& gradient, const Variable& variable, size_t index,
                           std::span<const Tensor> terms) = 0;

  // A slot of the `index`-th variable. `which` counts across the groups of slot_groups().
  const Variable& slot(size_t which, size_t index) const { return slots_[which][index]; }
  // Assigns average + (value - average) * rate to a slot, and returns it.
  static Tensor move_towards(const Variable& average, const Tensor& value, double rate);
  // The number of the update in progress, counted from 1; a float32 scalar.
  Tensor update_number() const;
  Variable add_variable(const std::string& path, const Shape& shape, DType dtype, double initial);
  Variable add_variable(const std::string& path, const Tensor& initial);
  // Adds a variable named after both, with the shape and dtype of `variable`.
  Variable add_like(const Variable& variable, const Slot& slot);
  // weight_decay, unless overridden; nullopt for excluded variables.
  virtual std::optional<double> weight_decay_of(const Variable& variable) const;

  // ---- for optimizers that delegate updates to others ----

  using Pairs = std::vector<std::pair<Tensor, size_t>>;  // gradient and index of the variable
  // Performs one step with gradients of the scaled loss that are already summed over replicas.
  virtual void update(Pairs pairs);
  static void update(OptimizerImpl& inner, Pairs pairs) { inner.update(std::move(pairs)); }
  // Builds `inner`, which is one of parts().
  void adopt(OptimizerImpl& inner, const std::vector<Variable>& variables);
  static void set_loss_scale_factor(OptimizerImpl& inner, const std::optional<double>& factor) {
    inner.options_.loss_scale_factor = factor;
  }
  // Runs `body`; its assignments take effect only if `condition` (a bool scalar) holds.
  static void assign_where(const Tensor& condition, const std::function<void()>& body);
  void count_step();

 private:
  void make_slots(const std::vector<Variable>& variables);
  Pairs known_pairs(const std::vector<Tensor>& gradients, const std::vector<Variable>& variables);
  void sum_gradients(Pairs& pairs) const;
  void step(Pairs pairs);
  void accumulate(const Pairs& pairs);
  void clip(Pairs& pairs) const;
  void decay_weights(const Pairs& pairs, const Tensor& learning_rate) const;
  void average_variables();
  void assign_all(const std::vector<Tensor>& weights, const char* what);
  Tensor update_count() const;

  std::string class_name_;
  OptimizerOptions options_;
  WeightDecayExclusions exclusions_;
  bool built_ = false;
  bool warned_ = false;
  int64_t version_ = 0;
  Variable iterations_;
  Variable learning_rate_;           // unless there is a schedule
  std::vector<Variable> variables_;  // excluding those of parts()
  std::vector<Variable> trained_;
  std::vector<std::vector<Variable>> slots_;
  std::vector<Variable> averages_;
  std::vector<Variable> accumulators_;
};

// A cheap handle to an optimizer. The classes of optimizers/ convert to it, and so do names
// ("adam", "sgd", …; InvalidArgument suggests the nearest known one). Models compiled with the same
// name, even via the same options, each get their own optimizer.
class Optimizer : public Handle<OptimizerImpl> {
 public:
  Optimizer() = default;
  Optimizer(const char* name);         // NOLINT: implicit on purpose
  Optimizer(const std::string& name);  // NOLINT
  explicit Optimizer(std::shared_ptr<OptimizerImpl> impl) : Handle(std::move(impl)) {}

  // Throws FailedPrecondition for an empty handle.
  OptimizerImpl& impl() const { return required("Optimizer", "an optimizer"); }
  void apply_gradients(const std::vector<Tensor>& gradients,
                       const std::vector<Variable>& variables) const {
    impl().apply_gradients(gradients, variables);
  }
  // Same as apply_gradients. Without variables, the gradients are for the variables that the
  // optimizer was built for, in that order: throws FailedPrecondition before build (or a first call
  // with variables).
  void apply(const std::vector<Tensor>& gradients, const std::vector<Variable>& variables) const {
    impl().apply_gradients(gradients, variables);
  }
  void apply(const std::vector<Tensor>& gradients) const;
  void build(const std::vector<Variable>& variables) const { impl().build(variables); }
  // The loss to differentiate in custom training loops: see OptimizerImpl.
  Tensor scale_loss(const Tensor& loss) const { return impl().scale_loss(loss); }
  std::vector<Variable> variables() const { return impl().variables(); }
  Tensor learning_rate() const { return impl().learning_rate(); }
  // A number or a schedule: see OptimizerImpl.
  void set_learning_rate(const LearningRate& value) const { impl().set_learning_rate(value); }
  // See OptimizerImpl.
  void set_weights(const std::vector<Tensor>& weights) const { impl().set_weights(weights); }
  void save_own_variables(std::map<std::string, Tensor>& store) const {
    impl().save_own_variables(store);
  }
  void load_own_variables(const std::map<std::string, Tensor>& store) const {
    impl().load_own_variables(store);
  }
  // Keras's iterations: with gradient_accumulation_steps, the number of variable updates.
  int64_t iterations() const { return impl().num_updates(); }

  // Returns the optimizer for compile to use: this one or, if it was made from a name and an
  // earlier compile has already taken it, a new one with the configuration that this one had then.
  Optimizer for_compile() const;

 private:
  // Shared by a handle made from a name and its copies.
  struct Named {
    std::mutex mutex;
    Json made_of;  // the name; once taken, with the configuration
    bool is_taken = false;
  };
  std::shared_ptr<Named> named_;
};

// Creates an optimizer of a class of your own.
template <class T, class... Args>
Optimizer make_optimizer(Args&&... args) {
  return Optimizer(std::make_shared<T>(std::forward<Args>(args)...));
}

// Creates a schedule of a class of your own.
template <class T, class... Args>
LearningRate make_schedule(Args&&... args) {
  return LearningRate(std::make_shared<const T>(std::forward<Args>(args)...));
}

using OptimizerFactory = std::function<Optimizer(const Json& config)>;
using ScheduleFactory = std::function<LearningRate(const Json& config)>;
// By class name ("RMSprop"), with Keras's lower-case aliases ("rmsprop").
Registry<OptimizerFactory>& optimizer_registry();
Registry<ScheduleFactory>& schedule_registry();
// The initial contents of the two registries; defined by framework/registration.
void register_builtins(Registry<OptimizerFactory>& registry);
void register_builtins(Registry<ScheduleFactory>& registry);
// Wraps an optimizer in a LossScaleOptimizer, unless it already is one. Defined by
// framework/registration.
Optimizer with_scaled_losses(const Optimizer& optimizer);

// Converts to and from Keras's serialized form:
// {"module", "class_name", "config", "registered_name"}.
Json serialize(const Optimizer& optimizer);
Optimizer optimizer_from_json(const Json& json);

// ---- for optimizers ----

// Extracts the shared arguments from an optimizer's options.
template <class Options>
OptimizerOptions shared_options(const Options& options) {
  OptimizerOptions shared;
  each_shared_option([](const char*, auto& to, const auto& from) { to = from; }, shared, options);
  return shared;
}

// An optimizer with its own options, which are added to its config.
template <class Options>
class OptimizerWith : public OptimizerImpl {
 public:
  OptimizerWith(const char* class_name, const Options& options)
      : OptimizerImpl(class_name, shared_options(options)), own_(options) {}
  Json get_config() const override {
    Json config = OptimizerImpl::get_config();
    write_options(config, own_);
    return config;
  }

 protected:
  const Options own_;
};

// Creates a `Handle` from its config. visit_fields lists the optimizer's own options.
template <class Handle, class Options>
OptimizerFactory optimizer_factory() {
  return [](const Json& config) -> Optimizer {
    auto options = read_options<Options>(config);
    each_shared_option(ConfigReader(config), options);
    return Handle(options);
  };
}

}  // namespace cornu
