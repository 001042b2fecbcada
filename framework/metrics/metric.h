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

// A running value: variables that update_state adds to, and a result computed from them. All in
// ops, so that updates are part of the compiled training step. A custom metric derives from
// this (keras.metrics.Metric) and is made with make_metric<T>(…).
class MetricImpl {
 public:
  // `dtype`: of what it computes with, a policy's being its compute dtype; None: float32.
  // InvalidArgument for a dtype that isn't of numbers.
  explicit MetricImpl(std::string name, const DTypeName& dtype = {});
  virtual ~MetricImpl() = default;
  // `sample_weight` may be undefined. A mask on y_pred takes positions out.
  virtual void update_state(const Tensor& y_true, const Tensor& y_pred,
                            const Tensor& sample_weight) = 0;
  // For metrics of values (Mean, Sum); others raise InvalidArgument.
  virtual void update_values(const Tensor& values, const Tensor& sample_weight);
  virtual Tensor result() const = 0;  // floating: a scalar, or a vector by threshold or class
  virtual void reset_state();         // zeros, unless overridden
  virtual std::string class_name() const { return ""; }  // "": it can't be saved
  virtual Json get_config() const;                       // name, dtype, and what subclasses add
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  DType dtype() const { return dtype_; }
  virtual const std::vector<Variable>& variables() const { return variables_; }

 protected:
  // Created at construction or in the first update (eagerly); summed over replicas.
  Variable add_variable(const Shape& shape, const std::string& name, double initial = 0,
                        DTypeLike dtype = DType::Float32);
  // Assigns the variable's sum with `values`, which may be of a wider dtype.
  static void add_to(const Variable& variable, const Tensor& values);

 private:
  std::string name_;
  DType dtype_ = DType::Float32;
  std::vector<Variable> variables_;
};

// Arguments of metrics that have no others.
struct MetricOptions {
  std::string name = {};  // empty: Keras's default, mostly the snake_case of the class
  DTypeName dtype = {};   // None: float32
};

// A cheap handle on a metric; the classes of metrics.h convert to it, and so does a name
// ("accuracy", "mae", …; InvalidArgument with the nearest known one) or a callable
// (y_true, y_pred) -> values, of which the mean is kept. A name is also the metric's name, without
// its package ("my_package>name").
// "accuracy", "acc", "crossentropy" and "ce" become one of a family in their first update, by the
// shapes of labels and predictions (Keras's rule).
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

  // FailedPrecondition for an empty handle.
  MetricImpl& impl() const { return required("Metric", "a metric"); }
  const std::string& name() const { return impl().name(); }
  // The name that the handle was made from; "" when it wasn't.
  const std::string& spelling() const { return spelling_; }

  // Errors name the metric.
  void update_state(const Tensor& y_true, const Tensor& y_pred,
                    const Tensor& sample_weight = {}) const;
  void update_state(const Tensor& values) const;  // Mean, Sum
  // In a step of several replicas, of what all of them have seen.
  Tensor result() const;
  void reset_state() const { impl().reset_state(); }
  std::vector<Variable> variables() const {
    return impl_ ? impl_->variables() : std::vector<Variable>();
  }

 private:
  std::string spelling_;
};

// While it lives, reading the state of these metrics in a step of several replicas gives the
// replicas' states put together, by one collective for all of them. Elsewhere it changes nothing.
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

// A handle that knows the class of its metric.
template <class T>
using MetricRef = TypedHandle<Metric, T>;

// Makes a metric of a user's class.
template <class T, class... Args>
MetricRef<T> make_metric(Args&&... args) {
  return MetricRef<T>(std::make_shared<T>(std::forward<Args>(args)...));
}

using MetricFactory = std::function<Metric(const Json& config)>;
Registry<MetricFactory>& metric_registry();  // by class name, with Keras's aliases ("mae")

// As Keras's compile_config has it: the name that a handle was made from, else the class with its
// config. InvalidArgument for a metric of a user's callable, which has no name.
Json serialize(const Metric& metric);
Metric metric_from_json(const Json& json);

}  // namespace cornu
