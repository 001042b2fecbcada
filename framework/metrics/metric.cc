// SPDX-License-Identifier: Apache-2.0
#include "framework/metrics/metric.h"

#include <unordered_map>

#include "framework/core/strings.h"
#include "framework/graph/dispatch.h"
#include "framework/metrics/reduction.h"
#include "framework/metrics/register.h"
#include "framework/model/call_frame.h"
#include "framework/model/initializers.h"
#include "framework/model/layer.h"
#include "framework/model/registration_advice.h"
#include "framework/ops/ops.h"
#include "framework/strategy/replica_context.h"

namespace cornu {
namespace {

bool is_accuracy(const std::string& name) { return name == "accuracy" || name == "acc"; }
bool is_crossentropy(const std::string& name) { return name == "crossentropy" || name == "ce"; }

// Calls `body`; errors name the metric.
template <class F>
void placed(const MetricImpl& metric, const F& body) {
  const internal::CallFrame
      nobody;  // a model called by a metric isn't part of the one being trained
  try {
    body();
  } catch (Error& error) {
    const std::string class_name = metric.class_name().empty() ? "Metric" : metric.class_name();
    error.add_place(fmt::format("{} '{}'", class_name, metric.name()));
    throw;
  }
}

// Represents "accuracy" or "crossentropy" until the first update determines the shapes.
class OneOfFamily : public MetricImpl {
 public:
  OneOfFamily(const std::string& name, std::string family)
      : MetricImpl(name), family_(std::move(family)) {}
  void update_state(const Tensor& y_true, const Tensor& y_pred,
                    const Tensor& sample_weight) override {
    if (!chosen_) chosen_ = choose(y_true.shape(), y_pred.shape());
    chosen_.impl().update_state(y_true, y_pred, sample_weight);
  }
  Tensor result() const override {
    check<FailedPrecondition>(static_cast<bool>(chosen_),
                              "Metric '{}': which metric it is depends on the shapes of labels and "
                              "predictions. Update it before its result is asked for.",
                              name());
    return chosen_.result();
  }
  void reset_state() override {
    if (chosen_) chosen_.reset_state();
  }
  std::string class_name() const override {
    return chosen_ ? chosen_.impl().class_name() : family_;
  }
  Json get_config() const override {
    return chosen_ ? chosen_.impl().get_config() : MetricImpl::get_config();
  }
  const std::vector<Variable>& variables() const override {
    return chosen_ ? chosen_.impl().variables() : MetricImpl::variables();
  }

 private:
  Metric choose(const Shape& y_true, const Shape& y_pred) const {
    const bool binary = !y_pred.empty() && y_pred.back() == 1;
    const bool sparse = y_true.rank() < y_pred.rank() ||
                        (!y_true.empty() && y_true.back() == 1 && y_pred.back() > 1);
    const std::string kind = binary ? "Binary" : sparse ? "SparseCategorical" : "Categorical";
    return metric_registry().at(kind + family_)(Json::object({{"name", name()}}));
  }

  std::string family_;
  Metric chosen_;
};

}  // namespace

MetricImpl::MetricImpl(std::string name, const DTypeName& dtype) : name_(std::move(name)) {
  if (dtype.empty()) return;
  dtype_ = DTypePolicy::parse(dtype).compute;
  check<InvalidArgument>(is_floating(dtype_) || is_integer(dtype_),
                         "Metric '{}': expected a dtype of numbers, got \"{}\".", name_,
                         static_cast<const std::string&>(dtype));
}

void MetricImpl::update_values(const Tensor&, const Tensor&) {
  raise<InvalidArgument>("expected y_true and y_pred, got values. Use metrics::Mean for values.");
}

void MetricImpl::reset_state() {
  for (const Variable& variable : variables_) {
    variable.assign(initializers::Zeros()(variable.shape(), variable.dtype()));
  }
}

Json MetricImpl::get_config() const {
  return Json::object({{"name", name_}, {"dtype", to_string(dtype_)}});
}

Variable MetricImpl::add_variable(const Shape& shape, const std::string& name, double initial,
                                  DTypeLike dtype) {
  Variable variable(initializers::Constant(initial)(shape, dtype),
                    {.name = name,
                     .trainable = false,
                     .autocast = false,
                     .synchronization = VariableSynchronization::OnRead,
                     .aggregation = VariableAggregation::Sum});
  variable.set_path(name_ + "/" + name);
  variables_.push_back(variable);
  return variable;
}

void MetricImpl::add_to(const Variable& variable, const Tensor& values) {
  variable.assign(ops::cast(variable.value() + values, variable.dtype()));
}

Metric::Metric(const char* name) : Metric(std::string(given_text(name, "metric"))) {}

Metric::Metric(const std::string& name) : spelling_(name) {
  const std::string lower = lower_case(name);
  if (is_accuracy(lower) || is_crossentropy(lower)) {
    impl_ = std::make_shared<OneOfFamily>(name, is_accuracy(lower) ? "Accuracy" : "Crossentropy");
    return;
  }
  impl_ = make_from_serialized(metric_registry(), Json(name)).impl_;
  impl_->set_name(name.substr(name.rfind('>') + 1));  // without its package, as in Keras
}

Metric::Metric(const std::string& name, Function function)
    : Metric(metrics::MeanMetricWrapper(std::move(function), {.name = name})) {}

void Metric::update_state(const Tensor& y_true, const Tensor& y_pred,
                          const Tensor& sample_weight) const {
  const NameScope scope(name());
  placed(impl(), [&] { impl().update_state(y_true, y_pred, sample_weight); });
}

void Metric::update_state(const Tensor& values) const {
  const NameScope scope(name());
  placed(impl(), [&] { impl().update_values(values, {}); });
}

Tensor Metric::result() const {
  const GlobalMetricState global({*this});
  return impl().result();
}

class GlobalMetricState::Reads : public VariableHooks {
 public:
  explicit Reads(const std::vector<Metric>& metrics) : previous_(innermost_), scope_(this) {
    innermost_ = this;
    for (const Metric& metric : metrics) {
      for (const Variable& variable : metric.variables()) {
        if (variable.synchronization() == VariableSynchronization::OnRead &&
            variable.aggregation() == VariableAggregation::Sum && !is_read_globally(variable)) {
          values_.emplace(variable.id(), Tensor());
          variables_.push_back(variable);
        }
      }
    }
  }

  Tensor read(const Variable& variable) override {
    const auto found = values_.find(variable.id());
    if (found == values_.end()) return read_own(variable);
    if (!found->second.defined()) reduce();
    return found->second;
  }
  void assign(const Variable& variable, const Tensor& value) override {
    outer_ ? outer_->assign(variable, value) : variable.store(value);
  }

  ~Reads() override { innermost_ = previous_; }
  Reads(const Reads&) = delete;
  Reads& operator=(const Reads&) = delete;

 private:
  // Whether an enclosing scope already does so: a metric may ask another for its result.
  bool is_read_globally(const Variable& variable) const {
    for (const Reads* reads = previous_; reads; reads = reads->previous_) {
      if (reads->values_.contains(variable.id())) return true;
    }
    return false;
  }

  Tensor read_own(const Variable& variable) const {
    return outer_ ? outer_->read(variable) : variable.stored();
  }

  void reduce() {
    std::vector<Tensor> own;
    for (const Variable& variable : variables_) own.push_back(read_own(variable));
    const std::vector<Tensor> sums = sum_over_replicas(own);
    for (size_t i = 0; i < sums.size(); ++i) values_[variables_[i].id()] = sums[i];
  }

  static thread_local Reads* innermost_;
  Reads* previous_;
  VariableHooks* outer_ = current_variable_hooks();
  VariableHooksScope scope_;
  std::unordered_map<const void*, Tensor> values_;
  std::vector<Variable> variables_;  // those of values_, in the order of the metrics
};

thread_local GlobalMetricState::Reads* GlobalMetricState::Reads::innermost_ = nullptr;

GlobalMetricState::GlobalMetricState(const std::vector<Metric>& metrics) {
  if (replicas_in_sync() > 1) reads_ = std::make_unique<Reads>(metrics);
}
GlobalMetricState::~GlobalMetricState() = default;

Registry<MetricFactory>& metric_registry() {
  static auto& registry = make_registry<MetricFactory>("metric", register_builtins);
  return registry;
}

Json serialize(const Metric& metric) {
  if (!metric) return nullptr;
  if (!metric.spelling().empty()) return metric.spelling();
  const std::string class_name = metric.impl().class_name();
  check<InvalidArgument>(
      !class_name.empty(),
      "Metric '{}': a function, or a class without class_name(), can't be saved. Make it a "
      "MetricImpl whose class_name() is \"package>Name\", and register that with "
      "metric_registry().add(…).",
      metric.name());
  return serialized_form("keras.metrics", class_name, metric.impl().get_config());
}

Metric metric_from_json(const Json& json) {
  if (json.is_null()) return {};
  const Json* name = json.is_string() ? &json : name_of_function(json);
  if (name) {
    // The name refers to the class; as a function in a file, it has the sign of the loss.
    check<Unimplemented>(json.is_string() || name->as_string() != "cosine_similarity",
                         "The function keras.losses.cosine_similarity isn't here as a metric. "
                         "Compile the model with keras.metrics.CosineSimilarity, which has the "
                         "other sign.");
    const std::string known = function_in_file(metric_registry(), json, name->as_string());
    return with_registration_advice(metric_registry(), known, [&] { return Metric(known); });
  }
  return make_from_file(metric_registry(), json);
}

}  // namespace cornu
