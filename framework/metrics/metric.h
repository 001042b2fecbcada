// SPDX-License-Identifier: Apache-2.0
// The interface of metrics.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/core/handle.h"
#include "framework/core/json.h"
#include "framework/core/registry.h"
#include "framework/core/tensors.h"
#include "framework/core/variable.h"

namespace cornu {

// A running value: variables that update_state accumulates into, and a result computed from them.
// Everything is implemented with ops, so that updates are part of the compiled training step.
// Custom metrics derive from this class (keras.metrics.Metric) and are created with
// make_metric<T>(…).
class MetricImpl {
 public:
  // `dtype`: the dtype of the computation; for a policy, its compute dtype; None: float32. Throws
  // InvalidArgument for a non-numeric dtype.
  explicit MetricImpl(std::string name, const DTypeName& dtype = {});
  virtual ~MetricImpl() = default;
  // `sample_weight` may be undefined. A mask on y_pred excludes positions.
  virtual void update_state(const Tensor& y_true, const Tensor& y_pred,
                            const Tensor& sample_weight) = 0;
  // For metrics of values (Mean, Sum); other metrics throw InvalidArgument.
  virtual void update_values(const Tensor& values, const Tensor& sample_weight);
  virtual Tensor result() const = 0;  // floating: a scalar, or a vector by threshold or class
  virtual void reset_state();         // zeros the state, unless overridden
  virtual std::string class_name() const { return ""; }  // "": can't be saved
  virtual Json get_config() const;                       // name, dtype, and whatever subclasses add
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  DType dtype() const { return dtype_; }
  virtual const std::vector<Variable>& variables() const { return variables_; }

 protected:
  // Creates a variable at construction or (eagerly) in the first update; it is summed over
  // replicas.
  Variable add_variable(const Shape& shape, const std::string& name, double initial = 0,
                        DTypeLike dtype = DType::Float32);
  // Adds `values`, which may have a wider dtype, to the variable.
  static void add_to(const Variable& variable, const Tensor& values);

 private:
  std::string name_;
  DType dtype_ = DType::Float32;
  std::vector<Variable> variables_;
};

// Options of metrics without further options.
struct MetricOptions {
  std::string name = {};  // empty: Keras's default, usually the class in snake_case
  DTypeName dtype = {};   // None: float32
};

// A cheap handle to a metric. The classes of metrics.h convert to it, and so do names ("accuracy",
// "mae", …; InvalidArgument suggests the nearest known one) and callables (y_true, y_pred) ->
// values, whose mean is tracked. A name also becomes the metric's name, without its package
// ("my_package>name"). "accuracy", "acc", "crossentropy" and "ce" resolve to a specific metric in
// their first update, depending on the shapes of labels and predictions (Keras's rule).
class Metric : public Handle<MetricImpl> {
 public:
  using Function = std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)>;
  Metric() = default;
  Metric(const char* name);         // NOLINT: implicit on purpose
  Metric(const std::string& name);  // NOLINT
  Metric(const std::string& name, Function function);
  template <class F>
  requires(std::is_invocable_r_v<Tensor, F, const Tensor&, const Tensor&> &&
           !std::is_base_of_v<Metric, F>) Metric(F function)  // NOLINT
      : Metric("mean_metric_wrapper", Function(std::move(function))) {}
  explicit Metric(std::shared_ptr<MetricImpl> impl) : Handle(std::move(impl)) {}

  // Throws FailedPrecondition for an empty handle.
  MetricImpl& impl() const { return required("Metric", "a metric"); }
  const std::string& name() const { return impl().name(); }
  // The name from which the handle was created, or "".
  const std::string& spelling() const { return spelling_; }

  // Errors name the metric.
  void update_state(const Tensor& y_true, const Tensor& y_pred,
                    const Tensor& sample_weight = {}) const;
  void update_state(const Tensor& values) const;  // Mean, Sum
  // With several replicas, the result over all of them.
  Tensor result() const;
  void reset_state() const { impl().reset_state(); }
  std::vector<Variable> variables() const {
    return impl_ ? impl_->variables() : std::vector<Variable>();
  }

 private:
  std::string spelling_;
};

// While alive, reading the state of these metrics in a step of several replicas returns the
// combined state of all replicas, with a single collective for all metrics. Has no effect
// elsewhere.
class [[nodiscard]] GlobalMetricState {
 public:
  explicit GlobalMetricState(const std::vector<Metric>& metrics);
  ~GlobalMetricState();
  GlobalMetricState(const GlobalMetricState&) = delete;
  GlobalMetricState& operator=(const GlobalMetricState&) = delete;

 private:
  class Reads;
  std::unique_ptr<Reads> reads_;
};

// A handle that knows the concrete class of its metric.
template <class T>
using MetricRef = TypedHandle<Metric, T>;

// Creates a metric of a user-defined class.
template <class T, class... Args>
MetricRef<T> make_metric(Args&&... args) {
  return MetricRef<T>(std::make_shared<T>(std::forward<Args>(args)...));
}

using MetricFactory = std::function<Metric(const Json& config)>;
Registry<MetricFactory>& metric_registry();  // by class name, with Keras's aliases ("mae")

// The form of Keras's compile_config: the name from which a handle was created, otherwise the class
// with its config. Throws InvalidArgument for a metric of a user's callable, which has no name.
Json serialize(const Metric& metric);
Metric metric_from_json(const Json& json);

}  // namespace cornu
