// SPDX-License-Identifier: Apache-2.0
#include "framework/train/optimizer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "framework/core/logging.h"
#include "framework/core/placed_with.h"
#include "framework/core/strings.h"
#include "framework/graph/dispatch.h"
#include "framework/graph/replica.h"
#include "framework/model/initializers.h"
#include "framework/model/input.h"
#include "framework/model/layer.h"
#include "framework/model/registration_advice.h"
#include "framework/ops/ops.h"
#include "framework/strategy/replica_context.h"
#include "framework/strategy/strategy.h"

namespace cornu {
namespace {

// Collects assignments instead of performing them, so that they can be made conditional. Reads see
// the collected values.
class DeferredAssignments : public VariableHooks {
 public:
  DeferredAssignments() : outer_(current_variable_hooks()), scope_(this) {}

  Tensor read(const Variable& variable) override {
    const auto it = positions_.find(variable.id());
    if (it != positions_.end()) return assigned_[it->second].second;
    return outer_ ? outer_->read(variable) : variable.stored();
  }
  void assign(const Variable& variable, const Tensor& value) override {
    const auto [it, added] = positions_.emplace(variable.id(), assigned_.size());
    if (added) assigned_.emplace_back(variable, value);
    assigned_[it->second].second = value;
  }
  const std::vector<std::pair<Variable, Tensor>>& assigned() const { return assigned_; }

 private:
  VariableHooks* outer_;
  VariableHooksScope scope_;
  std::map<const void*, size_t> positions_;
  std::vector<std::pair<Variable, Tensor>> assigned_;
};

void check_options(const std::string& class_name, const OptimizerOptions& options) {
  check<InvalidArgument>(options.name.find('/') == std::string::npos,
                         "{}: expected a name without '/' (it separates the components of variable "
                         "paths in files), got '{}'.",
                         class_name, options.name);
  check<InvalidArgument>(options.clipnorm.has_value() + options.clipvalue.has_value() +
                                 options.global_clipnorm.has_value() <=
                             1,
                         "{}: expected at most one of clipnorm, clipvalue and global_clipnorm, got "
                         "more. Omit all but one.",
                         class_name);
  check<InvalidArgument>(
      !options.gradient_accumulation_steps || *options.gradient_accumulation_steps >= 2,
      "{}: expected gradient_accumulation_steps of at least 2, got {}. Omit it to update at every "
      "step.",
      class_name, options.gradient_accumulation_steps.value_or(0));
  check<InvalidArgument>(options.ema_momentum >= 0 && options.ema_momentum <= 1,
                         "{}: expected ema_momentum in [0, 1], got {}.", class_name,
                         options.ema_momentum);
  check<InvalidArgument>(!options.ema_overwrite_frequency || *options.ema_overwrite_frequency >= 1,
                         "{}: expected ema_overwrite_frequency of at least 1, got {}. Omit it to "
                         "overwrite only when training ends.",
                         class_name, options.ema_overwrite_frequency.value_or(0));
}

Tensor cast_like(const Tensor& value, const Variable& like) {
  return value.dtype() == like.dtype() ? value : ops::cast(value, like.dtype());
}

std::string joined_paths(const std::vector<Variable>& variables) {
  std::vector<std::string> paths;
  for (const Variable& variable : variables) paths.push_back("'" + variable.path() + "'");
  return join(paths, ", ");
}

}  // namespace

OptimizerImpl::OptimizerImpl(std::string class_name, OptimizerOptions options)
    : class_name_(std::move(class_name)), options_(std::move(options)) {
  check_options(class_name_, options_);
  if (options_.name.empty()) {
    const size_t package = class_name_.find('>');
    options_.name = unique_name(to_snake_case(
        package == std::string::npos ? class_name_ : class_name_.substr(package + 1)));
  }
  iterations_ = add_variable(options_.name + "/iteration", {}, DType::Int64, 0);
  const LearningRate& rate = options_.learning_rate;
  if (!rate.schedule()) {
    learning_rate_ =
        add_variable(options_.name + "/learning_rate", {}, DType::Float32, rate.value());
  }
}

OptimizerImpl::~OptimizerImpl() = default;

void OptimizerImpl::assign_where(const Tensor& condition, const std::function<void()>& body) {
  std::vector<std::pair<Variable, Tensor>> assigned;
  {
    DeferredAssignments deferred;
    body();
    assigned = deferred.assigned();
  }
  for (const auto& [variable, value] : assigned) {
    variable.assign(ops::where(condition, value, variable.value()));
  }
}

Variable OptimizerImpl::add_variable(const std::string& path, const Shape& shape, DType dtype,
                                     double initial) {
  return add_variable(path, initializers::Constant(initial)(shape, dtype));
}

Variable OptimizerImpl::add_variable(const std::string& path, const Tensor& initial) {
  Variable variable(initial, {.name = path.substr(path.rfind('/') + 1), .trainable = false});
  variable.set_path(path);
  variables_.push_back(variable);
  return variable;
}

Variable OptimizerImpl::add_like(const Variable& variable, const Slot& slot) {
  std::string name = variable.path() + "_" + slot.name;
  std::replace(name.begin(), name.end(), '/', '_');
  const PlacedWith beside(variable);
  return add_variable(options_.name + "/" + name, variable.shape(), variable.dtype(), slot.initial);
}

void OptimizerImpl::build(const std::vector<Variable>& variables) {
  if (built_) return;
  const size_t before = variables_.size();
  built_ = true;
  try {
    make_slots(variables);
  } catch (...) {  // e.g. out of memory; can be retried
    built_ = false;
    variables_.resize(before);
    for (auto* made : {&trained_, &averages_, &accumulators_}) made->clear();
    slots_.clear();
    throw;
  }
}

void OptimizerImpl::make_slots(const std::vector<Variable>& variables) {
  trained_ = variables;
  if (options_.use_ema) {
    for (const Variable& variable : variables) averages_.push_back(add_like(variable, {"average"}));
  }
  if (options_.gradient_accumulation_steps) {
    for (const Variable& variable : variables) {
      accumulators_.push_back(add_like(variable, {"gradient_accumulator"}));
    }
  }
  for (const std::vector<Slot>& group : slot_groups()) {
    const size_t first = slots_.size();
    slots_.resize(first + group.size());
    for (const Variable& variable : variables) {
      for (size_t i = 0; i < group.size(); ++i) {
        slots_[first + i].push_back(add_like(variable, group[i]));
      }
    }
  }
  build_extra();
}

void OptimizerImpl::adopt(OptimizerImpl& inner, const std::vector<Variable>& variables) {
  inner.build(variables);
  bool same = inner.trained_.size() == variables.size();
  for (size_t i = 0; same && i < variables.size(); ++i) {
    same = inner.trained_[i].id() == variables[i].id();
  }
  check<FailedPrecondition>(same,
                            "{} '{}': expected optimizers that were built for no other variables, "
                            "but {} '{}' was. Make it with a new one.",
                            class_name_, name(), inner.class_name_, inner.name());
}

std::vector<Variable> OptimizerImpl::variables() const {
  std::vector<Variable> all = variables_;
  if (!built_) return all;
  for (const auto& [group, part] : parts()) {
    const std::vector<Variable> inner = part.variables();
    all.insert(all.end(), inner.begin(), inner.end());
  }
  return all;
}

void OptimizerImpl::set_weights(const std::vector<Tensor>& weights) {
  check<FailedPrecondition>(built_,
                            "{} '{}': set_weights needs an optimizer that is built. Call "
                            "build(variables) first.",
                            class_name_, name());
  assign_all(weights, "set_weights");
}

void OptimizerImpl::assign_all(const std::vector<Tensor>& weights, const char* what) {
  const std::vector<Variable> all = variables();
  check<InvalidArgument>(weights.size() == all.size(),
                         "{} '{}': {} expected a tensor for each of {} variables, got {}.",
                         class_name_, name(), what, all.size(), weights.size());
  for (size_t i = 0; i < all.size(); ++i) {
    check<InvalidArgument>(weights[i].shape() == all[i].shape(),
                           "{} '{}': {} expected shape {} for '{}', got {}.", class_name_, name(),
                           what, all[i].shape(), all[i].path(), weights[i].shape());
    check<InvalidArgument>(
        weights[i].dtype() != DType::String && !is_placeholder(weights[i]),
        "{} '{}': {} expected numbers for '{}', got {}.", class_name_, name(), what, all[i].path(),
        weights[i].dtype() == DType::String ? "strings" : "a placeholder of a model");
  }
  for (size_t i = 0; i < all.size(); ++i) all[i].assign(weights[i]);
}

void OptimizerImpl::save_own_variables(std::map<std::string, Tensor>& store) const {
  const std::vector<Variable> all = variables();
  for (size_t i = 0; i < all.size(); ++i) store[std::to_string(i)] = all[i].value();
}

void OptimizerImpl::load_own_variables(const std::map<std::string, Tensor>& store) {
  const std::vector<Variable> all = variables();
  if (store.size() != all.size()) {
    logging::warn(fmt::format(
        "{} '{}': its state isn't loaded, since it has {} variables, and {} were given.{}",
        class_name_, name(), all.size(), store.size(),
        built_ ? "" : " It isn't built: call build(variables) first."));
    return;
  }
  std::vector<Tensor> weights;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto found = store.find(std::to_string(i));
    check<InvalidArgument>(found != store.end(),
                           "{} '{}': load_own_variables expected the variables' numbers as names, "
                           "but there is no '{}'.",
                           class_name_, name(), i);
    weights.push_back(found->second);
  }
  assign_all(weights, "load_own_variables");
}

OptimizerImpl::Pairs OptimizerImpl::known_pairs(const std::vector<Tensor>& gradients,
                                                const std::vector<Variable>& variables) {
  check<InvalidArgument>(gradients.size() == variables.size(),
                         "{} '{}': expected a gradient for each of {} variables, got {}.",
                         class_name_, name(), variables.size(), gradients.size());
  std::map<const void*, size_t> positions;
  for (size_t i = 0; i < trained_.size(); ++i) positions[trained_[i].id()] = i;
  Pairs pairs;
  std::vector<Variable> missing;
  for (size_t i = 0; i < variables.size(); ++i) {
    const auto it = positions.find(variables[i].id());
    check<InvalidArgument>(
        it != positions.end(),
        "{} '{}': expected one of the variables it was built for, got '{}'. To train other "
        "variables, as after unfreezing layers, call compile again with a new optimizer.",
        class_name_, name(), variables[i].path());
    if (gradients[i].defined()) {
      check<InvalidArgument>(gradients[i].shape() == variables[i].shape(),
                             "{} '{}': expected a gradient of shape {} for variable '{}', got {}.",
                             class_name_, name(), variables[i].shape(), variables[i].path(),
                             gradients[i].shape());
      pairs.emplace_back(gradients[i], it->second);
    } else {
      missing.push_back(variables[i]);
    }
  }
  check<InvalidArgument>(!pairs.empty() || variables.empty(),
                         "{} '{}': expected gradients, got none for any variable ({}). Does the "
                         "loss depend on them?",
                         class_name_, name(), joined_paths(variables));
  if (!missing.empty() && !warned_) {
    logging::warn(fmt::format("{} '{}': no gradients for {}; they are left as they are.",
                              class_name_, name(), joined_paths(missing)));
    warned_ = true;
  }
  return pairs;
}

void OptimizerImpl::apply_gradients(const std::vector<Tensor>& gradients,
                                    const std::vector<Variable>& variables) {
  require_replica_context("apply_gradients");
  get_strategy().impl().require_training("apply_gradients");
  const NameScope scope(name());
  if (!variables.empty()) build(variables);
  Pairs pairs = known_pairs(gradients, variables);
  if (pairs.empty()) return;
  sum_gradients(pairs);
  const UpdateScope scope_of_update;
  update(std::move(pairs));
}

void OptimizerImpl::update(Pairs pairs) {
  for (auto& [gradient, index] : pairs) {
    gradient = cast_like(gradient, trained_[index]);
    if (options_.loss_scale_factor) gradient = gradient / *options_.loss_scale_factor;
  }
  if (options_.gradient_accumulation_steps) {
    accumulate(pairs);
  } else {
    step(pairs);
  }
  if (options_.use_ema) average_variables();
  for (const auto& [gradient, index] : pairs) {
    const Variable& variable = trained_[index];
    if (variable.constraint()) variable.assign(variable.constraint()(variable.value()));
  }
  count_step();
}

int64_t OptimizerImpl::num_updates() const {
  return iterations_.stored().item<int64_t>() / options_.gradient_accumulation_steps.value_or(1);
}

void OptimizerImpl::count_step() { iterations_.assign(iterations_.value() + 1); }

namespace {

// A replica's gradient in the form in which it is exchanged.
Tensor summand(const Tensor& gradient) {
  // Values computed from no examples may be NaN.
  const Tensor own =
      current_replica()->examples > 0 ? gradient : ops::zeros(gradient.shape(), gradient.dtype());
  if (own.dtype() != DType::Float32) return own;
  return ops::cast(own, get_strategy().impl().gradient_dtype().value_or(DType::Float32));
}

}  // namespace

// Sums gradients over all replicas, in buckets of a few MB. The backward pass computes the last
// layers' gradients first; buckets start there so that they can be exchanged while it continues.
// Sparse gradients are mostly computed at its end, and are small.
void OptimizerImpl::sum_gradients(Pairs& pairs) const {
  if (replicas_in_sync() == 1) return;
  std::vector<Tensor*> gradients;  // of a bucket
  std::vector<Tensor> own;
  size_t bytes = 0;
  const auto add = [&](Tensor& gradient) {
    gradients.push_back(&gradient);
    own.push_back(summand(gradient));
    bytes += own.back().bytes();
  };
  const auto sum_up = [&](const auto& sum) {
    const std::vector<Tensor> sums = sum(own);
    for (size_t i = 0; i < sums.size(); ++i) *gradients[i] = sums[i];
    gradients.clear();
    own.clear();
    bytes = 0;
  };
  const bool exchanges_rows = get_strategy().impl().exchanges_rows();
  const auto is_sparse = [&](const auto& pair) {
    return exchanges_rows && trained_[pair.second].sparse_gradients();
  };
  const auto sum_dense = [](const auto& values) { return sum_over_replicas(values); };
  const size_t bucket_bytes = get_strategy().impl().bytes_per_pack();
  for (auto pair = pairs.rbegin(); pair != pairs.rend(); ++pair) {
    if (!is_sparse(*pair)) add(pair->first);
    if (bytes >= bucket_bytes) sum_up(sum_dense);
  }
  sum_up(sum_dense);
  for (auto& pair : pairs) {
    if (is_sparse(pair)) add(pair.first);
  }
  sum_up(sum_sparse_over_replicas);
}

void OptimizerImpl::step(Pairs pairs) {
  const Tensor rate = learning_rate();
  clip(pairs);
  decay_weights(pairs, rate);
  const std::vector<Tensor> terms = step_terms(rate);
  for (const auto& [gradient, index] : pairs) {
    std::vector<Tensor> typed;
    for (const Tensor& term : terms) typed.push_back(cast_like(term, trained_[index]));
    update_step(gradient, trained_[index], index, typed);
  }
}

void OptimizerImpl::accumulate(const Pairs& pairs) {
  const int64_t steps = *options_.gradient_accumulation_steps;
  const Tensor is_update = ops::equal(ops::mod(iterations_.value() + 1, steps), 0);
  Pairs means;
  for (const auto& [gradient, index] : pairs) {
    const Tensor sum = gradient + accumulators_[index].value();
    means.emplace_back(sum / static_cast<double>(steps), index);
    accumulators_[index].assign(ops::where(is_update, 0.0, sum));
  }
  assign_where(is_update, [&] { step(means); });
}

void OptimizerImpl::clip(Pairs& pairs) const {
  // As in Keras, values <= 0 mean no clipping.
  auto given = [](const std::optional<double>& limit) { return limit && *limit > 0; };
  if (given(options_.clipvalue)) {
    for (auto& [gradient, index] : pairs) {
      gradient = ops::clip(gradient, -*options_.clipvalue, *options_.clipvalue);
    }
  } else if (given(options_.clipnorm)) {
    for (auto& [gradient, index] : pairs) {
      const Tensor norm = ops::sqrt(ops::sum(ops::square(gradient)));
      gradient = gradient * (*options_.clipnorm / ops::maximum(norm, *options_.clipnorm));
    }
  } else if (given(options_.global_clipnorm)) {
    Tensor squares;
    for (const auto& [gradient, index] : pairs) {
      const Tensor square = ops::cast(ops::sum(ops::square(gradient)), DType::Float32);
      squares = squares.defined() ? squares + square : square;
    }
    const Tensor norm = ops::sqrt(squares);
    // The difference is 0, or NaN if the norm isn't finite.
    const Tensor scale =
        *options_.global_clipnorm * ops::minimum(1.0 / norm, 1.0 / *options_.global_clipnorm) +
        (norm - norm);
    for (auto& [gradient, index] : pairs) gradient = gradient * cast_like(scale, trained_[index]);
  }
}

std::optional<double> OptimizerImpl::weight_decay_of(const Variable&) const {
  return options_.weight_decay;
}

void OptimizerImpl::decay_weights(const Pairs& pairs, const Tensor& learning_rate) const {
  auto is_excluded = [&](const Variable& variable) {
    return std::ranges::any_of(
               exclusions_.var_list,
               [&](const Variable& excluded) { return excluded.id() == variable.id(); }) ||
           std::ranges::any_of(exclusions_.var_names, [&](const std::string& text) {
             return variable.name().find(text) != std::string::npos;
           });
  };
  for (const auto& [gradient, index] : pairs) {
    const Variable& variable = trained_[index];
    const std::optional<double> decay = weight_decay_of(variable);
    if (!decay || is_excluded(variable)) continue;
    const Tensor value = variable.value();
    variable.assign(value - value * *decay * cast_like(learning_rate, variable));
  }
}

void OptimizerImpl::average_variables() {
  const Tensor count = update_count();
  const Tensor momentum =
      ops::cast(ops::not_equal(count, 0), DType::Float32) * options_.ema_momentum;
  for (size_t i = 0; i < trained_.size(); ++i) {
    const Tensor typed = cast_like(momentum, trained_[i]);
    averages_[i].assign(typed * averages_[i].value() + (1.0 - typed) * trained_[i].value());
  }
  if (!options_.ema_overwrite_frequency) return;
  const Tensor overwrites = ops::equal(ops::mod(count + 1, *options_.ema_overwrite_frequency), 0);
  assign_where(overwrites, [&] { finalize_variable_values(); });
}

void OptimizerImpl::finalize_variable_values() {
  for (size_t i = 0; i < averages_.size(); ++i) trained_[i].assign(averages_[i].value());
}

Tensor OptimizerImpl::scale_loss(const Tensor& loss) const {
  return options_.loss_scale_factor ? loss * *options_.loss_scale_factor : loss;
}

void OptimizerImpl::exclude_from_weight_decay(const WeightDecayExclusions& exclusions) {
  check<FailedPrecondition>(!built_,
                            "{} '{}': exclude_from_weight_decay must be called before the first "
                            "step.",
                            class_name_, name());
  exclusions_ = exclusions;
}

Tensor OptimizerImpl::update_count() const {
  const Tensor iterations = iterations_.value();
  return options_.gradient_accumulation_steps
             ? ops::floor_divide(iterations, *options_.gradient_accumulation_steps)
             : iterations;
}

Tensor OptimizerImpl::update_number() const {
  return ops::cast(update_count() + 1, DType::Float32);
}

Tensor OptimizerImpl::move_towards(const Variable& average, const Tensor& value, double rate) {
  const Tensor old = average.value();
  const Tensor moved = old + (value - old) * rate;
  average.assign(moved);
  return moved;
}

Tensor OptimizerImpl::learning_rate() const {
  const LearningRate& rate = options_.learning_rate;
  return rate.schedule() ? rate(iterations_.value()) : learning_rate_.value();
}

void OptimizerImpl::set_learning_rate(const LearningRate& value) {
  if (value.schedule()) {
    std::erase_if(variables_, [&](const Variable& one) { return one.id() == learning_rate_.id(); });
    options_.learning_rate = value;
    ++version_;
    return;
  }
  const auto& schedule = options_.learning_rate.schedule();
  check<FailedPrecondition>(
      !schedule,
      "{} '{}': expected a learning rate that is a number, got {}, which sets "
      "it at every step. Make the optimizer with a number to change the rate, or set another "
      "schedule.",
      class_name_, name(), schedule ? schedule->class_name() : "");
  learning_rate_.assign(value.value());
}

int64_t OptimizerImpl::version() const {
  int64_t all = version_;
  for (const auto& part : parts()) all += part.second.impl().version();
  return all;
}

Json OptimizerImpl::schedules() const {
  const auto& schedule = options_.learning_rate.schedule();
  Json own;
  try {
    if (schedule) own = config_value(options_.learning_rate);
  } catch (const Error&) {  // a user-defined class that can't be serialized
    own = schedule->class_name();
  }
  Json::Array all = {std::move(own)};
  for (const auto& part : parts()) all.push_back(part.second.impl().schedules());
  return all;
}

void OptimizerImpl::restore_schedules(const Json& saved) {
  const Json now = schedules();
  if (now == saved) return;
  const Json& own = saved[0];
  if (own.is_object() && own != now[0]) {
    LearningRate rate = 0.0;
    set_from_config(own, rate);
    OptimizerImpl::set_learning_rate(rate);
  } else if (own.is_null() && !now[0].is_null() && learning_rate_.defined()) {
    variables_.insert(variables_.begin() + 1, learning_rate_);  // after the iteration
    options_.learning_rate = learning_rate_.value().item<float>();
    ++version_;
  }
  const auto all = parts();
  for (size_t i = 0; i < std::min(all.size(), saved.size() - 1); ++i) {
    all[i].second.impl().restore_schedules(saved[i + 1]);
  }
}

std::vector<std::pair<std::string, Optimizer>> OptimizerImpl::parts() const { return {}; }

Json OptimizerImpl::get_config() const {
  Json config = Json::object();
  OptimizerOptions options = options_;
  if (!options.learning_rate.schedule()) {
    options.learning_rate = learning_rate_.stored().item<double>();
  }
  each_shared_option(ConfigWriter(config), options);
  return config;
}

}  // namespace cornu
