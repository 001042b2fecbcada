// SPDX-License-Identifier: Apache-2.0
// The interface of losses.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "framework/core/handle.h"
#include "framework/core/json.h"
#include "framework/core/registry.h"
#include "framework/core/tensors.h"

namespace cornu {

// How the losses of a batch's examples become the loss (Keras's `reduction`).
enum class Reduction { SumOverBatchSize, Sum, Mean, MeanWithSampleWeight, None };

const char* to_string(Reduction reduction);  // "sum_over_batch_size", …
// InvalidArgument with the nearest known name.
Reduction reduction_from_string(const std::string& name);
// For visit_fields of options.
Json config_value(Reduction reduction);
void set_from_config(const Json& json, Reduction& reduction);

// Arguments of losses that have no others.
struct LossOptions {
  Reduction reduction = Reduction::SumOverBatchSize;
  std::string name = {};  // empty: the snake_case of the class
  DTypeName dtype = {};   // of the loss; None: as predictions are, float32 at least
};

// A loss's function: one value for each example and inner position. Written in ops. A loss of one's
// own derives from this (keras.losses.Loss) and is made with make_loss<T>(…); one without options
// is a function.
class LossImpl {
 public:
  // InvalidArgument for a dtype that isn't floating.
  explicit LossImpl(std::string name = "loss", Reduction reduction = Reduction::SumOverBatchSize,
                    const DTypeName& dtype = {});
  virtual ~LossImpl() = default;
  // (batch, d0, …, dN) in, (batch, d0, …, dN-1) out, unreduced. y_pred is floating, at least
  // float32; y_true is as the caller gave it. A mask on the result takes positions out, as one on
  // y_pred does.
  virtual Tensor call(const Tensor& y_true, const Tensor& y_pred) const = 0;
  virtual std::string class_name() const { return ""; }  // "": it can't be saved
  // Name, reduction, dtype where it was given, and what subclasses add.
  virtual Json get_config() const;
  const std::string& name() const { return name_; }
  Reduction reduction() const { return reduction_; }
  std::optional<DType> dtype() const { return dtype_; }  // None where it wasn't given

 private:
  std::string name_;
  Reduction reduction_;
  std::optional<DType> dtype_;
};

// A cheap handle on a loss; the classes of losses.h convert to it, and so does a name ("mse",
// "sparse_categorical_crossentropy"; InvalidArgument with the nearest known one) or a callable
// (y_true, y_pred) -> per-example losses.
class Loss : public Handle<const LossImpl> {
 public:
  using Function = std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)>;
  Loss() = default;               // None
  Loss(std::nullptr_t) {}         // NOLINT: implicit on purpose
  Loss(const char* name);         // NOLINT: implicit on purpose
  Loss(const std::string& name);  // NOLINT
  template <class F>
  requires(std::is_invocable_r_v<Tensor, F, const Tensor&, const Tensor&> &&
           !std::is_base_of_v<Loss, F>) Loss(F function)  // NOLINT
      : Loss(std::move(function), LossOptions()) {}
  Loss(Function function, const LossOptions& options);
  explicit Loss(std::shared_ptr<const LossImpl> impl) : Handle(std::move(impl)) {}

  explicit operator bool() const { return impl_ != nullptr || needs_resolving(); }
  // FailedPrecondition for None and for losses that need resolving.
  const LossImpl& impl() const;
  const std::string& name() const { return needs_resolving() ? generic_ : impl().name(); }

  // "crossentropy" and "ce" become one of a family when the shapes of labels and predictions are
  // known (Keras's rule). resolve() does that; it returns the handle itself for all others.
  bool needs_resolving() const { return impl_ == nullptr && !generic_.empty(); }
  Loss resolve(const Shape& y_true, const Shape& y_pred) const;
  // The name that the handle was made from; "" when it wasn't.
  const std::string& spelling() const { return generic_; }

  // The reduced loss, a scalar unless the reduction is None. `sample_weight`: per example or per
  // position, broadcast from the left. 16-bit predictions are computed in float32, or in the loss's
  // own dtype, which is at least float32 until the result is given; y_true is converted to their
  // dtype (class indices stay integers); one of them is squeezed or expanded by a last axis of 1 as
  // Keras does. InvalidArgument, naming the loss, when shapes don't fit.
  //
  // In a step of several replicas a mean is this replica's part of the mean over the whole batch:
  // its sum divided by the number of all replicas' elements, or by the sum of all their weights.
  // The parts' sum is the loss, and the sum of their gradients its gradient.
  Tensor operator()(const Tensor& y_true, const Tensor& y_pred,
                    const Tensor& sample_weight = {}) const;

 private:
  std::string generic_;
};

// Makes a loss of a user's class.
template <class T, class... Args>
Loss make_loss(Args&&... args) {
  return Loss(std::make_shared<const T>(std::forward<Args>(args)...));
}

using LossFactory = std::function<Loss(const Json& config)>;
Registry<LossFactory>& loss_registry();  // by class name, with Keras's aliases ("mse")

// As Keras's compile_config has it: the name that a handle was made from, else the class with its
// config; null for None. InvalidArgument for a callable, which has no name.
Json serialize(const Loss& loss);
Loss loss_from_json(const Json& json);

}  // namespace cornu
