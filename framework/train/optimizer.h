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

// A learning rate as a function of the step. Written in ops.
class ScheduleImpl {
 public:
  virtual ~ScheduleImpl() = default;
  virtual Tensor operator()(const Tensor& step) const = 0;  // a float32 scalar of an int step
  virtual std::string class_name() const = 0;
  virtual Json get_config() const = 0;
};

// A number, or a schedule (optimizers::schedules::…, which convert to it).
class LearningRate {
 public:
  LearningRate(double value) : value_(value) {}  // NOLINT: implicit on purpose
  explicit LearningRate(std::shared_ptr<const ScheduleImpl> schedule)
      : schedule_(std::move(schedule)) {}
  const std::shared_ptr<const ScheduleImpl>& schedule() const { return schedule_; }
  double value() const { return value_; }
  // The rate at a step, a float32 scalar.
  Tensor operator()(const Tensor& step) const;

 private:
  double value_ = 0.001;
  std::shared_ptr<const ScheduleImpl> schedule_;
};

// For visit_fields of options: a number, or a schedule in its serialized form.
Json config_value(const LearningRate& learning_rate);
void set_from_config(const Json& json, LearningRate& learning_rate);

// Arguments that all optimizers share, in Keras's order. An optimizer's options repeat them around
// its own, so that users write them side by side: Adam({.learning_rate = 1e-4, .clipnorm = 1.0}).
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
};

// Calls visit(name, option of each of `options`...) for the shared arguments, in the order of
// Keras's configs: the one list of them, for configs and for copies between structs of options.
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

// Which variables weight decay leaves alone.
struct WeightDecayExclusions {
  std::vector<Variable> var_list = {};
  std::vector<std::string> var_names = {};  // variables with one of these in their names
};

class Optimizer;

// The update of one variable is what subclasses write; clipping, decay, averaging, accumulation and
// schedules are done here. All in ops: an update is part of the compiled training step, and becomes
// one elementwise kernel a variable.
//
// A slot is a variable like each trained one (a momentum), zero at first. Not thread-safe.
class OptimizerImpl {
 public:
  // `class_name` is Keras's ("Adam"), or "package>Name" for users' optimizers. InvalidArgument
  // where the shared options contradict each other.
  OptimizerImpl(std::string class_name, OptimizerOptions options);
  virtual ~OptimizerImpl();

  // Creates the state for these variables (Keras's `build`); apply_gradients does it first. Once
  // built, only those variables can be trained.
  void build(const std::vector<Variable>& variables);
  bool built() const { return built_; }
  // One update step. In a step of several replicas the gradients are summed over them first, so
  // that all make the same update: losses are to be parts of the whole batch's, as Loss and
  // compute_average_loss make them. Variables whose gradient is undefined are left alone, with a
  // warning the first time; InvalidArgument when all are, when counts or shapes differ, or for a
  // variable that the optimizer wasn't built for. FailedPrecondition in the scope of a strategy of
  // several replicas, outside of its steps.
  void apply_gradients(const std::vector<Tensor>& gradients,
                       const std::vector<Variable>& variables);
  // The loss to differentiate: times loss_scale_factor, where there is one. Gradients are divided
  // by it in apply_gradients.
  virtual Tensor scale_loss(const Tensor& loss) const;
  // With use_ema: replaces the trained variables by their averages. What fit does at its end.
  virtual void finalize_variable_values();
  // FailedPrecondition once built.
  virtual void exclude_from_weight_decay(const WeightDecayExclusions& exclusions);

  // The values of variables(), in their order. FailedPrecondition before build; InvalidArgument,
  // and nothing changes, for another number of them or shapes, and for what isn't numbers.
  void set_weights(const std::vector<Tensor>& weights);
  // variables() by their numbers, "0", "1", …, and back. Where there are others in number than
  // here, nothing is loaded, with a warning, as in Keras.
  void save_own_variables(std::map<std::string, Tensor>& store) const;
  void load_own_variables(const std::map<std::string, Tensor>& store);

  // iteration, learning_rate (without a schedule), then slots in Keras's order; behind them those
  // of the optimizers that it was built with (parts()).
  std::vector<Variable> variables() const;
  const std::vector<Variable>& trainable_variables() const { return trained_; }
  // With use_ema, once built: the averages of trainable_variables(), in their order.
  const std::vector<Variable>& averages() const { return averages_; }
  virtual const Variable& iterations() const { return iterations_; }
  // Updates of the variables so far: with gradient_accumulation_steps fewer than iterations().
  virtual int64_t num_updates() const;
  // The current rate, a float32 scalar.
  virtual Tensor learning_rate() const;
  // A number: FailedPrecondition where there is a schedule. A schedule takes the place of either,
  // at the step that comes next; the variable of the rate is gone then. Functions of a program's
  // own that were traced before keep what they had, as in Keras.
  virtual void set_learning_rate(const LearningRate& value);
  // Counts what makes updates of later steps others than those that were traced: new schedules, of
  // parts(), too.
  int64_t version() const;
  // For the state of a run, which may have been given schedules since it began: its schedule, null
  // for a number, and those of parts(), in their order; and back, with the variables of rates that
  // were numbers.
  Json schedules() const;
  void restore_schedules(const Json& saved);
  // The optimizers that this one gives its updates to, under the names of their groups in files.
  virtual std::vector<std::pair<std::string, Optimizer>> parts() const;
  // Of its variables and its parts': those that files of models lack.
  virtual std::vector<Variable> unsaved_variables() const { return {}; }
  // Of variables(): those that Keras makes without tracking them when a LossScaleOptimizer builds
  // this optimizer, whose files lack them then.
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
  // The slots in groups: a group is made variable by variable (momentum and velocity of the first,
  // of the second, …), one group after the other. That is the order of variables(), and of files.
  virtual std::vector<std::vector<Slot>> slots() const { return {}; }
  // State beside the slots, made after them with add_variable and add_like.
  virtual void build_extra() {}
  // Scalars that the updates of all variables share, computed once a step: the learning rate,
  // unless overridden (Adam's, with its bias corrections). float32 in and out.
  virtual std::vector<Tensor> step_terms(const Tensor& learning_rate) { return {learning_rate}; }
  // Assigns the new values of `variable` and its slots. `gradient` and `terms`, what step_terms
  // gave, have its dtype.
  virtual void update_step(const Tensor& gradient, const Variable& variable, size_t index,
                           std::span<const Tensor> terms) = 0;

  // A slot of the `index`-th variable. `which` counts through the groups of slots().
  const Variable& slot(size_t which, size_t index) const { return slots_[which][index]; }
  // Assigns average + (value - average) * rate to a slot, and returns it.
  static Tensor move_towards(const Variable& average, const Tensor& value, double rate);
  // Updates counted from 1 at the step in progress, a float32 scalar.
  Tensor update_number() const;
  Variable add_variable(const std::string& path, const Shape& shape, DType dtype, double initial);
  Variable add_variable(const std::string& path, const Tensor& initial);
  // Named after both, and of the variable's shape and dtype.
  Variable add_like(const Variable& variable, const Slot& slot);
  // Of weight_decay, unless overridden; none for variables that are excluded.
  virtual std::optional<double> weight_decay_of(const Variable& variable) const;

  // ---- for optimizers that give updates to others ----

  using Pairs = std::vector<std::pair<Tensor, size_t>>;  // gradient and index of the variable
  // One step with gradients that have been summed over replicas, as they came of the scaled loss.
  virtual void update(Pairs pairs);
  static void update(OptimizerImpl& inner, Pairs pairs) { inner.update(std::move(pairs)); }
  // Builds `inner`, which is one of parts().
  void adopt(OptimizerImpl& inner, const std::vector<Variable>& variables);
  static void set_loss_scale_factor(OptimizerImpl& inner, const std::optional<double>& factor) {
    inner.options_.loss_scale_factor = factor;
  }
  // Runs `body`; its assignments take effect where `condition` (a bool scalar) holds.
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
  Variable learning_rate_;           // without a schedule
  std::vector<Variable> variables_;  // its own
  std::vector<Variable> trained_;
  std::vector<std::vector<Variable>> slots_;
  std::vector<Variable> averages_;
  std::vector<Variable> accumulators_;
};

// A cheap handle on an optimizer; the classes of optimizers/ convert to it, and so does a name
// ("adam", "sgd", …; InvalidArgument with the nearest known one). Models that are compiled with
// one name, be it in the same options, have an optimizer each.
class Optimizer : public Handle<OptimizerImpl> {
 public:
  Optimizer() = default;
  Optimizer(const char* name);         // NOLINT: implicit on purpose
  Optimizer(const std::string& name);  // NOLINT
  explicit Optimizer(std::shared_ptr<OptimizerImpl> impl) : Handle(std::move(impl)) {}

  // FailedPrecondition for an empty handle.
  OptimizerImpl& impl() const { return required("Optimizer", "an optimizer"); }
  void apply_gradients(const std::vector<Tensor>& gradients,
                       const std::vector<Variable>& variables) const {
    impl().apply_gradients(gradients, variables);
  }
  // The same. Without variables the gradients are those of the variables it was built for, in that
  // order: FailedPrecondition before build, which the first call with variables is, too.
  void apply(const std::vector<Tensor>& gradients, const std::vector<Variable>& variables) const {
    impl().apply_gradients(gradients, variables);
  }
  void apply(const std::vector<Tensor>& gradients) const;
  void build(const std::vector<Variable>& variables) const { impl().build(variables); }
  // The loss to differentiate, for loops of a program's own: see OptimizerImpl.
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
  // Keras's: with gradient_accumulation_steps, how often variables were updated.
  int64_t iterations() const { return impl().num_updates(); }

  // What a call of compile takes: this one; of a name, which an earlier call has taken, a new one
  // with the configuration that this one had then.
  Optimizer for_compile() const;

 private:
  // Of a handle that was made from a name, and its copies.
  struct Named {
    std::mutex mutex;
    Json made_of;  // the name; with the configuration, once it is taken
    bool is_taken = false;
  };
  std::shared_ptr<Named> named_;
};

using OptimizerFactory = std::function<Optimizer(const Json& config)>;
using ScheduleFactory = std::function<LearningRate(const Json& config)>;
// By class name ("RMSprop"), with Keras's lower-case aliases ("rmsprop").
Registry<OptimizerFactory>& optimizer_registry();
Registry<ScheduleFactory>& schedule_registry();
// What the two hold at first; defined by framework/registration.
void register_builtins(Registry<OptimizerFactory>& registry);
void register_builtins(Registry<ScheduleFactory>& registry);
// A LossScaleOptimizer around it, unless it is one. Defined by framework/registration.
Optimizer with_scaled_losses(const Optimizer& optimizer);

// Keras's serialized form: {"module", "class_name", "config", "registered_name"}, and back.
Json serialize(const Optimizer& optimizer);
Optimizer optimizer_from_json(const Json& json);

// ---- for optimizers ----

// The arguments among an optimizer's options that all optimizers share.
template <class Options>
OptimizerOptions shared_options(const Options& options) {
  OptimizerOptions shared;
  each_shared_option([](const char*, auto& to, const auto& from) { to = from; }, shared, options);
  return shared;
}

// An optimizer with options of its own, which go into its config.
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

// Makes a `Handle` from its config. visit_fields lists the optimizer's own options.
template <class Handle, class Options>
OptimizerFactory optimizer_factory() {
  return [](const Json& config) -> Optimizer {
    auto options = read_options<Options>(config);
    each_shared_option(ConfigReader(config), options);
    return Handle(options);
  };
}

}  // namespace cornu
