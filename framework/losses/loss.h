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

// How the losses of a batch's examples are reduced to a single loss (Keras's `reduction`).
enum class Reduction { SumOverBatchSize, Sum, Mean, MeanWithSampleWeight, None };

const char* to_string(Reduction reduction);  // "sum_over_batch_size", …
// Throws InvalidArgument with the nearest known name.
Reduction reduction_from_string(const std::string& name);
// For visit_fields of options.
Json config_value(Reduction reduction);
void set_from_config(const Json& json, Reduction& reduction);

// Options of losses without further options.
struct LossOptions {
  Reduction reduction = Reduction::SumOverBatchSize;
  std::string name = {};  // empty: the class name in snake_case
  DTypeName dtype = {};   // of the loss; None: that of predictions, at least float32
};

// Computes a loss value for each example and inner position. Implemented with ops. Custom losses
// derive from this class (keras.losses.Loss) and are created with make_loss<T>(…); a loss without
// options can also be a function.
class LossImpl {
 public:
  // Throws InvalidArgument for a non-floating dtype.
  explicit LossImpl(std::string name = "loss", Reduction reduction = Reduction::SumOverBatchSize,
                    const DTypeName& dtype = {});
  virtual ~LossImpl() = default;
  // Maps (batch, d0, …, dN) to unreduced losses of shape (batch, d0, …, dN-1). y_pred is floating
  // point, at least float32; y_true is passed as is. A mask on the result excludes positions, like
  // a mask on y_pred.
  virtual Tensor call(const Tensor& y_true, const Tensor& y_pred) const = 0;
  virtual std::string class_name() const { return ""; }  // "": can't be saved
  // Name, reduction, dtype if specified, and whatever subclasses add.
  virtual Json get_config() const;
  const std::string& name() const { return name_; }
  Reduction reduction() const { return reduction_; }
  std::optional<DType> dtype() const { return dtype_; }  // None if not specified

 private:
  std::string name_;
  Reduction reduction_;
  std::optional<DType> dtype_;
};

// A cheap handle to a loss. The classes of losses.h convert to it, and so do names ("mse",
// "sparse_categorical_crossentropy"; InvalidArgument suggests the nearest known one) and callables
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
  // Throws FailedPrecondition for None and for losses that need resolving.
  const LossImpl& impl() const;
  const std::string& name() const { return needs_resolving() ? generic_ : impl().name(); }

  // "crossentropy" and "ce" resolve to one of several crossentropies once the shapes of labels and
  // predictions are known (Keras's rule). resolve() does this, and returns the handle itself for
  // all other losses.
  bool needs_resolving() const { return impl_ == nullptr && !generic_.empty(); }
  Loss resolve(const Shape& y_true, const Shape& y_pred) const;
  // The name from which the handle was created, or "".
  const std::string& spelling() const { return generic_; }

  // Returns the reduced loss: a scalar unless the reduction is None. `sample_weight` has a value
  // per example or per position, and is broadcast from the left. 16-bit predictions are converted
  // to float32, or to the loss's own dtype; the latter is at least float32 until the result is
  // returned. y_true is converted to the dtype of predictions (class indices stay integers), and a
  // trailing axis of size 1 is added or removed as in Keras. Throws InvalidArgument, naming the
  // loss, for incompatible shapes.
  //
  // With several replicas, a mean is this replica's part of the mean over the whole batch: its sum
  // divided by the number of elements, or the sum of weights, of all replicas. The parts add up to
  // the loss, and their gradients to its gradient.
  Tensor operator()(const Tensor& y_true, const Tensor& y_pred,
                    const Tensor& sample_weight = {}) const;

 private:
  std::string generic_;
};

// Creates a loss of a user-defined class.
template <class T, class... Args>
Loss make_loss(Args&&... args) {
  return Loss(std::make_shared<const T>(std::forward<Args>(args)...));
}

using LossFactory = std::function<Loss(const Json& config)>;
Registry<LossFactory>& loss_registry();  // by class name, with Keras's aliases ("mse")

// The form of Keras's compile_config: the name from which a handle was created, otherwise the class
// with its config; null for None. Throws InvalidArgument for a callable, which has no name.
Json serialize(const Loss& loss);
Loss loss_from_json(const Json& json);

}  // namespace cornu
