// SPDX-License-Identifier: Apache-2.0
#include "framework/losses/hinge.h"

#include "framework/losses/function_loss.h"
#include "framework/losses/operands.h"
#include "framework/losses/register.h"
#include "framework/ops/ops.h"

namespace cornu::losses {
namespace {

// Converts labels that are all 0 or 1 to -1 and 1.
Tensor signs_of(const Tensor& y_true) {
  const Tensor binary = ops::all(ops::logical_or(ops::equal(y_true, 0.0), ops::equal(y_true, 1.0)));
  return ops::where(binary, 2.0 * y_true - 1.0, y_true);
}

Tensor margins(const Tensor& y_true, const Tensor& y_pred) {
  const auto [truth, pred] = operands(y_true, y_pred);
  return ops::maximum(1.0 - signs_of(truth) * pred, 0.0);
}

}  // namespace

Tensor hinge(const Tensor& y_true, const Tensor& y_pred) {
  return ops::mean(margins(y_true, y_pred), -1);
}

Tensor squared_hinge(const Tensor& y_true, const Tensor& y_pred) {
  return ops::mean(ops::square(margins(y_true, y_pred)), -1);
}

Tensor categorical_hinge(const Tensor& y_true, const Tensor& y_pred) {
  const auto [truth, pred] = operands(y_true, y_pred, "Give labels as one-hot vectors.");
  const Tensor right = ops::sum(truth * pred, -1);
  const Tensor wrong = ops::max((1.0 - truth) * pred, -1);
  return ops::maximum(wrong - right + 1.0, 0.0);
}

Hinge::Hinge(const LossOptions& options) : Loss(make_loss("Hinge", options, hinge)) {}

SquaredHinge::SquaredHinge(const LossOptions& options)
    : Loss(make_loss("SquaredHinge", options, squared_hinge)) {}

CategoricalHinge::CategoricalHinge(const LossOptions& options)
    : Loss(make_loss("CategoricalHinge", options, categorical_hinge)) {}

void register_hinge(Registry<LossFactory>& registry) {
  registry.add("Hinge", loss_from_config<Hinge, LossOptions>);
  registry.add("SquaredHinge", loss_from_config<SquaredHinge, LossOptions>);
  registry.add("CategoricalHinge", loss_from_config<CategoricalHinge, LossOptions>);
}

}  // namespace cornu::losses
