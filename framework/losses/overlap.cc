// SPDX-License-Identifier: Apache-2.0
#include "framework/losses/overlap.h"

#include "framework/losses/function_loss.h"
#include "framework/losses/operands.h"
#include "framework/losses/register.h"
#include "framework/ops/ops.h"

namespace cornu::losses {
namespace {

Tensor sum_over(const Tensor& x, const OptionalList<int64_t>& axis) {
  return axis ? ops::sum(x, *axis) : ops::sum(x);
}

}  // namespace

Tensor dice(const Tensor& y_true, const Tensor& y_pred, const OptionalList<int64_t>& axis) {
  const auto [truth, pred] = operands(y_true, y_pred);
  const Tensor shared = sum_over(truth * pred, axis);
  return 1.0 - 2.0 * shared / (sum_over(truth, axis) + sum_over(pred, axis) + kEpsilon);
}

Tensor tversky(const Tensor& y_true, const Tensor& y_pred, double alpha, double beta,
               const OptionalList<int64_t>& axis) {
  const auto [truth, pred] = operands(y_true, y_pred);
  const Tensor shared = sum_over(truth * pred, axis);
  const Tensor missed = sum_over(truth * (1.0 - pred), axis);
  const Tensor added = sum_over(pred * (1.0 - truth), axis);
  return 1.0 - shared / (shared + missed * alpha + added * beta + kEpsilon);
}

template <class Fields>
void visit_fields(Fields& fields, DiceOptions& options) {
  fields("axis", options.axis);
}
template <class Fields>
void visit_fields(Fields& fields, TverskyOptions& options) {
  fields("alpha", options.alpha);
  fields("beta", options.beta);
  fields("axis", options.axis);
}

Dice::Dice(const DiceOptions& options)
    : Loss(make_loss("Dice", options,
                     [axis = options.axis](const Tensor& y_true, const Tensor& y_pred) {
                       return dice(y_true, y_pred, axis);
                     })) {}

Tversky::Tversky(const TverskyOptions& options)
    : Loss(make_loss("Tversky", options, [options](const Tensor& y_true, const Tensor& y_pred) {
        return tversky(y_true, y_pred, options.alpha, options.beta, options.axis);
      })) {}

void register_overlap(Registry<LossFactory>& registry) {
  registry.add("Dice", loss_from_config<Dice, DiceOptions>);
  registry.add("Tversky", loss_from_config<Tversky, TverskyOptions>);
}

}  // namespace cornu::losses
