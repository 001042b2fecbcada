// SPDX-License-Identifier: Apache-2.0
#include "framework/losses/crossentropy.h"

#include "framework/losses/function_loss.h"
#include "framework/losses/operands.h"
#include "framework/losses/register.h"
#include "framework/ops/ops.h"

namespace cornu::losses {
namespace {

constexpr const char* kBinaryMend =
    "Give one label for each prediction; for several classes use CategoricalCrossentropy or "
    "SparseCategoricalCrossentropy.";
constexpr const char* kOneHotMend =
    "Give labels as one-hot vectors; for class indices use SparseCategoricalCrossentropy.";

void require_classes(const Tensor& y_pred) {
  check<InvalidArgument>(y_pred.rank() > 0 && y_pred.shape().back() != 1,
                         "expected predictions of more than one class, got y_pred of shape {}. For "
                         "a single output use BinaryCrossentropy.",
                         y_pred.shape());
}

Tensor smoothed_classes(const Tensor& y_true, double label_smoothing) {
  if (label_smoothing == 0) return y_true;
  const auto classes = static_cast<double>(y_true.shape().back());
  return y_true * (1.0 - label_smoothing) + label_smoothing / classes;
}

Tensor smoothed_binary(const Tensor& y_true, double label_smoothing) {
  if (label_smoothing == 0) return y_true;
  return y_true * (1.0 - label_smoothing) + 0.5 * label_smoothing;
}

}  // namespace

Tensor binary_crossentropy(const Tensor& y_true, const Tensor& y_pred, bool from_logits,
                           double label_smoothing, int64_t axis) {
  const auto [truth, pred] = operands(y_true, y_pred, kBinaryMend);
  const Tensor target = smoothed_binary(truth, label_smoothing);
  return ops::mean(ops::binary_crossentropy(target, pred, from_logits), axis);
}

Tensor binary_focal_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                 const BinaryFocalArguments& arguments) {
  const auto [labels, pred] = operands(y_true, y_pred, kBinaryMend);
  const Tensor truth = smoothed_binary(labels, arguments.label_smoothing);
  const Tensor p = arguments.from_logits ? ops::sigmoid(pred) : pred;
  const Tensor p_true = truth * p + (1.0 - truth) * (1.0 - p);
  Tensor loss =
      ops::power(1.0 - p_true, arguments.gamma) * ops::binary_crossentropy(truth, p, false);
  if (arguments.apply_class_balancing) {
    loss = (truth * arguments.alpha + (1.0 - truth) * (1.0 - arguments.alpha)) * loss;
  }
  return ops::mean(loss, arguments.axis);
}

Tensor categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred, bool from_logits,
                                double label_smoothing, int64_t axis) {
  const auto [truth, pred] = operands(y_true, y_pred, kOneHotMend);
  require_classes(pred);
  return ops::categorical_crossentropy(smoothed_classes(truth, label_smoothing), pred,
                                       {.from_logits = from_logits, .axis = axis});
}

Tensor ClassWeighting::for_classes(const Tensor& x, int64_t axis) const {
  if (!of_each_) return Tensor(weights_[0]);
  const int64_t along = x.shape().normalize_axis(axis, "categorical_focal_crossentropy");
  const auto count = static_cast<int64_t>(weights_.size());
  check<InvalidArgument>(x.dim(along) == count || x.dim(along) == kUnknown,
                         "alpha: expected a weight for all classes or one for each of {}, got {} "
                         "weights.",
                         x.dim(along), count);
  std::vector<int64_t> shape(static_cast<size_t>(x.rank()), 1);
  shape[static_cast<size_t>(along)] = count;
  return ops::cast(Tensor::from(weights_, Shape(shape)), x.dtype());
}

Json ClassWeighting::to_json() const {
  return of_each_ ? Json(cornu::config_value(weights_)) : Json(weights_[0]);
}

void set_from_config(const Json& json, ClassWeighting& weighting) {
  std::vector<double> weights;
  if (json.is_array()) {
    cornu::set_from_config(json, weights);
    weighting = std::move(weights);
  } else {
    weighting = json.as_double();
  }
}

Tensor categorical_focal_crossentropy(const Tensor& y_true, const Tensor& y_pred,
                                      const CategoricalFocalArguments& arguments) {
  const auto [labels, pred] = operands(y_true, y_pred, kOneHotMend);
  require_classes(pred);
  const int64_t axis = arguments.axis;
  const Tensor truth = smoothed_classes(labels, arguments.label_smoothing);
  const Tensor p = arguments.from_logits ? ops::softmax(pred, axis) : pred;
  const Tensor sum = ops::sum(p, axis, true);
  const Tensor output = ops::clip(p / sum, kEpsilon, 1.0 - kEpsilon);
  const Tensor weight =
      ops::power(1.0 - output, arguments.gamma) * arguments.alpha.for_classes(output, axis);
  return -ops::sum(weight * truth * ops::log(output), axis);
}

Tensor sparse_categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred, bool from_logits,
                                       std::optional<int64_t> ignore_class, int64_t axis) {
  check<InvalidArgument>(axis == -1 || axis == y_pred.rank() - 1,
                         "expected the classes along the last axis of y_pred, got axis {}. "
                         "Transpose the predictions.",
                         axis);
  const Tensor labels = class_indices(y_true, y_pred);
  require_classes(y_pred);
  const Tensor loss = ops::sparse_categorical_crossentropy(
      labels, y_pred, {.from_logits = from_logits, .ignore_class = ignore_class});
  return ignore_class ? loss.with_mask(ops::not_equal(labels, *ignore_class)) : loss;
}

Tensor categorical_generalized_cross_entropy(const Tensor& y_true, const Tensor& y_pred, double q) {
  const Tensor labels = class_indices(y_true, y_pred);
  const Tensor one_hot = ops::one_hot(labels, y_pred.shape().back(), -1, y_pred.dtype());
  const Tensor p = ops::sum(y_pred * one_hot, -1);
  return (1.0 - ops::power(p, q)) / q;
}

Tensor kl_divergence(const Tensor& y_true, const Tensor& y_pred) {
  const auto [truth, pred] = operands(y_true, y_pred);
  const Tensor p = ops::clip(truth, kEpsilon, 1.0);
  const Tensor q = ops::clip(pred, kEpsilon, 1.0);
  return ops::sum(p * ops::log(p / q), -1);
}

Tensor poisson(const Tensor& y_true, const Tensor& y_pred) {
  const auto [truth, pred] = operands(y_true, y_pred);
  return ops::mean(pred - truth * ops::log(pred + kEpsilon), -1);
}

template <class Fields>
void visit_fields(Fields& fields, BinaryCrossentropyOptions& options) {
  fields("from_logits", options.from_logits);
  fields("label_smoothing", options.label_smoothing);
  fields("axis", options.axis);
}
template <class Fields>
void visit_fields(Fields& fields, BinaryFocalCrossentropyOptions& options) {
  fields("from_logits", options.from_logits);
  fields("label_smoothing", options.label_smoothing);
  fields("axis", options.axis);
  fields("apply_class_balancing", options.apply_class_balancing);
  fields("alpha", options.alpha);
  fields("gamma", options.gamma);
}
template <class Fields>
void visit_fields(Fields& fields, CategoricalCrossentropyOptions& options) {
  fields("from_logits", options.from_logits);
  fields("label_smoothing", options.label_smoothing);
  fields("axis", options.axis);
}
template <class Fields>
void visit_fields(Fields& fields, CategoricalFocalCrossentropyOptions& options) {
  fields("from_logits", options.from_logits);
  fields("label_smoothing", options.label_smoothing);
  fields("axis", options.axis);
  fields("alpha", options.alpha);
  fields("gamma", options.gamma);
}
template <class Fields>
void visit_fields(Fields& fields, SparseCategoricalCrossentropyOptions& options) {
  fields("from_logits", options.from_logits);
  fields("ignore_class", options.ignore_class);
  fields.unless_default("axis", options.axis, int64_t{-1});
}
template <class Fields>
void visit_fields(Fields& fields, CategoricalGeneralizedCrossEntropyOptions& options) {
  fields("q", options.q);
}

BinaryCrossentropy::BinaryCrossentropy(const BinaryCrossentropyOptions& options)
    : Loss(make_loss("BinaryCrossentropy", options,
                     [options](const Tensor& y_true, const Tensor& y_pred) {
                       return binary_crossentropy(y_true, y_pred, options.from_logits,
                                                  options.label_smoothing, options.axis);
                     })) {}

BinaryFocalCrossentropy::BinaryFocalCrossentropy(const BinaryFocalCrossentropyOptions& options)
    : Loss(make_loss("BinaryFocalCrossentropy", options,
                     [options](const Tensor& y_true, const Tensor& y_pred) {
                       return binary_focal_crossentropy(
                           y_true, y_pred,
                           {.apply_class_balancing = options.apply_class_balancing,
                            .alpha = options.alpha,
                            .gamma = options.gamma,
                            .from_logits = options.from_logits,
                            .label_smoothing = options.label_smoothing,
                            .axis = options.axis});
                     })) {}

CategoricalCrossentropy::CategoricalCrossentropy(const CategoricalCrossentropyOptions& options)
    : Loss(make_loss("CategoricalCrossentropy", options,
                     [options](const Tensor& y_true, const Tensor& y_pred) {
                       return categorical_crossentropy(y_true, y_pred, options.from_logits,
                                                       options.label_smoothing, options.axis);
                     })) {}

CategoricalFocalCrossentropy::CategoricalFocalCrossentropy(
    const CategoricalFocalCrossentropyOptions& options)
    : Loss(make_loss("CategoricalFocalCrossentropy", options,
                     [options](const Tensor& y_true, const Tensor& y_pred) {
                       return categorical_focal_crossentropy(
                           y_true, y_pred,
                           {.alpha = options.alpha,
                            .gamma = options.gamma,
                            .from_logits = options.from_logits,
                            .label_smoothing = options.label_smoothing,
                            .axis = options.axis});
                     })) {}

SparseCategoricalCrossentropy::SparseCategoricalCrossentropy(
    const SparseCategoricalCrossentropyOptions& options)
    : Loss(make_loss("SparseCategoricalCrossentropy", options,
                     [options](const Tensor& y_true, const Tensor& y_pred) {
                       return sparse_categorical_crossentropy(y_true, y_pred, options.from_logits,
                                                              options.ignore_class, options.axis);
                     })) {}

CategoricalGeneralizedCrossEntropy::CategoricalGeneralizedCrossEntropy(
    const CategoricalGeneralizedCrossEntropyOptions& options)
    : Loss(make_loss("CategoricalGeneralizedCrossEntropy", options,
                     [q = options.q](const Tensor& y_true, const Tensor& y_pred) {
                       return categorical_generalized_cross_entropy(y_true, y_pred, q);
                     })) {
  check<InvalidArgument>(options.q > 0 && options.q < 1,
                         "CategoricalGeneralizedCrossEntropy: expected q in (0, 1), got {}.",
                         options.q);
}

KLDivergence::KLDivergence(const LossOptions& options)
    : Loss(make_loss("KLDivergence", options, kl_divergence)) {}

Poisson::Poisson(const LossOptions& options) : Loss(make_loss("Poisson", options, poisson)) {}

void register_crossentropy(Registry<LossFactory>& registry) {
  registry.add("BinaryCrossentropy",
               loss_from_config<BinaryCrossentropy, BinaryCrossentropyOptions>);
  registry.add("BinaryFocalCrossentropy",
               loss_from_config<BinaryFocalCrossentropy, BinaryFocalCrossentropyOptions>);
  registry.add("CategoricalCrossentropy",
               loss_from_config<CategoricalCrossentropy, CategoricalCrossentropyOptions>);
  registry.add("CategoricalFocalCrossentropy",
               loss_from_config<CategoricalFocalCrossentropy, CategoricalFocalCrossentropyOptions>);
  registry.add(
      "SparseCategoricalCrossentropy",
      loss_from_config<SparseCategoricalCrossentropy, SparseCategoricalCrossentropyOptions>);
  registry.add("CategoricalGeneralizedCrossEntropy",
               loss_from_config<CategoricalGeneralizedCrossEntropy,
                                CategoricalGeneralizedCrossEntropyOptions>);
  registry.add("KLDivergence", loss_from_config<KLDivergence, LossOptions>);
  registry.add("Poisson", loss_from_config<Poisson, LossOptions>);
  const std::pair<const char*, const char*> aliases[] = {
      {"bce", "BinaryCrossentropy"},
      {"BCE", "BinaryCrossentropy"},
      {"kld", "KLDivergence"},
      {"KLD", "KLDivergence"},
  };
  for (const auto& [alias, name] : aliases) registry.add_alias(alias, name);
}

}  // namespace cornu::losses
