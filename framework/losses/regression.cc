// SPDX-License-Identifier: Apache-2.0
#include "framework/losses/regression.h"

#include <numbers>

#include "framework/losses/function_loss.h"
#include "framework/losses/operands.h"
#include "framework/losses/register.h"
#include "framework/ops/ops.h"

namespace cornu::losses {
namespace {

Tensor mean_of_last(const Tensor& x) { return ops::mean(x, -1); }

// Scales to Euclidean norm 1; norms below 1e-7 are treated as 1e-7.
Tensor normalized(const Tensor& x, int64_t axis) {
  const Tensor square = ops::sum(ops::square(x), axis, true);
  return x * ops::rsqrt(ops::maximum(square, kEpsilon * kEpsilon));
}

}  // namespace

Tensor mean_squared_error(const Tensor& y_true, const Tensor& y_pred) {
  const auto [truth, pred] = operands(y_true, y_pred);
  return mean_of_last(ops::square(truth - pred));
}

Tensor mean_absolute_error(const Tensor& y_true, const Tensor& y_pred) {
  const auto [truth, pred] = operands(y_true, y_pred);
  return mean_of_last(ops::abs(truth - pred));
}

Tensor mean_absolute_percentage_error(const Tensor& y_true, const Tensor& y_pred) {
  const auto [truth, pred] = operands(y_true, y_pred);
  return 100.0 * mean_of_last(ops::abs((truth - pred) / ops::maximum(ops::abs(truth), kEpsilon)));
}

Tensor mean_squared_logarithmic_error(const Tensor& y_true, const Tensor& y_pred) {
  const auto [truth, pred] = operands(y_true, y_pred);
  auto logarithm = [](const Tensor& x) { return ops::log(ops::maximum(x, kEpsilon) + 1.0); };
  return mean_of_last(ops::square(logarithm(pred) - logarithm(truth)));
}

Tensor huber(const Tensor& y_true, const Tensor& y_pred, double delta) {
  const auto [truth, pred] = operands(y_true, y_pred);
  const Tensor error = pred - truth;
  const Tensor size = ops::abs(error);
  return mean_of_last(
      ops::where(size <= delta, 0.5 * ops::square(error), delta * size - 0.5 * delta * delta));
}

Tensor log_cosh(const Tensor& y_true, const Tensor& y_pred) {
  const auto [truth, pred] = operands(y_true, y_pred);
  const Tensor error = pred - truth;
  return mean_of_last(error + ops::softplus(error * -2.0) - std::numbers::ln2);
}

Tensor cosine_similarity(const Tensor& y_true, const Tensor& y_pred, int64_t axis) {
  const auto [truth, pred] = operands(y_true, y_pred);
  return -ops::sum(normalized(truth, axis) * normalized(pred, axis), axis);
}

template <class Fields>
void visit_fields(Fields& fields, HuberOptions& options) {
  fields.unless_default("delta", options.delta, 1.0);
}
template <class Fields>
void visit_fields(Fields& fields, CosineSimilarityOptions& options) {
  fields.unless_default("axis", options.axis, int64_t{-1});
}

MeanSquaredError::MeanSquaredError(const LossOptions& options)
    : Loss(make_loss("MeanSquaredError", options, mean_squared_error)) {}

MeanAbsoluteError::MeanAbsoluteError(const LossOptions& options)
    : Loss(make_loss("MeanAbsoluteError", options, mean_absolute_error)) {}

MeanAbsolutePercentageError::MeanAbsolutePercentageError(const LossOptions& options)
    : Loss(make_loss("MeanAbsolutePercentageError", options, mean_absolute_percentage_error)) {}

MeanSquaredLogarithmicError::MeanSquaredLogarithmicError(const LossOptions& options)
    : Loss(make_loss("MeanSquaredLogarithmicError", options, mean_squared_logarithmic_error)) {}

Huber::Huber(const HuberOptions& options)
    : Loss(make_loss("Huber", options,
                     [delta = options.delta](const Tensor& y_true, const Tensor& y_pred) {
                       return huber(y_true, y_pred, delta);
                     })) {}

LogCosh::LogCosh(const LossOptions& options) : Loss(make_loss("LogCosh", options, log_cosh)) {}

CosineSimilarity::CosineSimilarity(const CosineSimilarityOptions& options)
    : Loss(make_loss("CosineSimilarity", options,
                     [axis = options.axis](const Tensor& y_true, const Tensor& y_pred) {
                       return cosine_similarity(y_true, y_pred, axis);
                     })) {}

void register_regression(Registry<LossFactory>& registry) {
  registry.add("MeanSquaredError", loss_from_config<MeanSquaredError, LossOptions>);
  registry.add("MeanAbsoluteError", loss_from_config<MeanAbsoluteError, LossOptions>);
  registry.add("MeanAbsolutePercentageError",
               loss_from_config<MeanAbsolutePercentageError, LossOptions>);
  registry.add("MeanSquaredLogarithmicError",
               loss_from_config<MeanSquaredLogarithmicError, LossOptions>);
  registry.add("Huber", loss_from_config<Huber, HuberOptions>);
  registry.add("LogCosh", loss_from_config<LogCosh, LossOptions>);
  registry.add("CosineSimilarity", loss_from_config<CosineSimilarity, CosineSimilarityOptions>);
  const std::pair<const char*, const char*> aliases[] = {
      {"mse", "MeanSquaredError"},
      {"MSE", "MeanSquaredError"},
      {"mae", "MeanAbsoluteError"},
      {"MAE", "MeanAbsoluteError"},
      {"mape", "MeanAbsolutePercentageError"},
      {"MAPE", "MeanAbsolutePercentageError"},
      {"msle", "MeanSquaredLogarithmicError"},
      {"MSLE", "MeanSquaredLogarithmicError"},
  };
  for (const auto& [alias, name] : aliases) registry.add_alias(alias, name);
}

}  // namespace cornu::losses
