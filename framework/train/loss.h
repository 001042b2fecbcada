// SPDX-License-Identifier: Apache-2.0
// The interface of losses.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cornu/core/json.h"
#include "cornu/core/registry.h"
#include "cornu/core/tensors.h"

namespace cornu {

// How the losses of a batch's examples become the loss (Keras's `reduction`).
enum class Reduction { SumOverBatchSize, Sum, Mean, MeanWithSampleWeight, None };

const char* to_string(Reduction reduction);  // "sum_over_batch_size", …
Reduction reduction_from_string(const std::string& name);

// A loss's function: one value for each example and inner position. Written in ops.
class LossImpl {
 public:
  LossImpl(std::string name, Reduction reduction) : name_(std::move(name)), reduction_(reduction) {}
  virtual ~LossImpl() = default;
  // (batch, d0, …, dN) in, (batch, d0, …, dN-1) out, unreduced.
  virtual Tensor call(const Tensor& y_true, const Tensor& y_pred) const = 0;
  virtual std::string class_name() const = 0;  // "" where it can't be saved
  virtual Json get_config() const;             // name, reduction, and what subclasses add
  const std::string& name() const { return name_; }
  Reduction reduction() const { return reduction_; }

 private:
  std::string name_;
  Reduction reduction_;
};

// A cheap handle on a loss; the classes of losses.h convert to it, and so does a name ("mse",
// "sparse_categorical_crossentropy"; InvalidArgument with the nearest known one) or a callable
// (y_true, y_pred) -> per-example losses.
class Loss {
 public:
  Loss() = default;  // None
  Loss(const char* name);         // NOLINT: implicit on purpose
  Loss(const std::string& name);  // NOLINT
  Loss(std::function<Tensor(const Tensor&, const Tensor&)> function);  // NOLINT
  explicit Loss(std::shared_ptr<const LossImpl> impl) : impl_(std::move(impl)) {}

  explicit operator bool() const { return impl_ != nullptr; }
  const LossImpl& impl() const { return *impl_; }
  const std::string& name() const { return impl_->name(); }

  // The reduced loss. `sample_weight`: per example or per position, broadcast from the left.
  // y_true is converted to y_pred's dtype (class indices stay integers), squeezed or expanded by a
  // last axis of 1 as Keras does.
  Tensor operator()(const Tensor& y_true, const Tensor& y_pred,
                    const Tensor& sample_weight = {}) const;
  // The weighted sum of the unreduced losses and what the reduction divides it by: how batches and
  // replicas of unequal size are put together. Reduction::None is a FailedPrecondition.
  struct Parts {
    Tensor sum;
    Tensor denominator;
  };
  Parts parts(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) const;

 private:
  std::shared_ptr<const LossImpl> impl_;
};

using LossFactory = std::function<Loss(const Json& config)>;
Registry<LossFactory>& loss_registry();  // by class name

Json serialize(const Loss& loss);
Loss loss_from_json(const Json& json);

}  // namespace cornu
