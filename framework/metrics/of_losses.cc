// SPDX-License-Identifier: Apache-2.0
#include "framework/metrics/of_losses.h"

#include "framework/losses/losses.h"
#include "framework/losses/operands.h"
#include "framework/metrics/reduction.h"
#include "framework/metrics/register.h"
#include "framework/ops/ops.h"

namespace cornu::metrics {
namespace {

using Function = MeanMetricWrapper::Function;

std::shared_ptr<MetricImpl> mean_loss(const char* class_name, const MetricOptions& options,
                                      Function function, Json config = Json::object()) {
  return mean_of_function(
      class_name, options,
      // Losses expect floating-point predictions of at least 32 bits.
      [function = std::move(function)](const Tensor& y_true, const Tensor& y_pred) {
        return function(y_true, ops::cast(y_pred, computed_in(y_pred.dtype())));
      },
      std::move(config));
}

Tensor squared_errors(const Tensor& y_true, const Tensor& y_pred) {
  const auto [truth, pred] = operands(y_true, y_pred);
  return ops::square(pred - truth);
}

class RootMeanSquaredErrorImpl : public MeanOfFunction {
 public:
  explicit RootMeanSquaredErrorImpl(const MetricOptions& options)
      : MeanOfFunction("RootMeanSquaredError", options, squared_errors) {}
  void update_state(const Tensor& y_true, const Tensor& y_pred,
                    const Tensor& sample_weight) override {
    // As in Keras, a mask on the predictions is ignored.
    MeanOfFunction::update_state(ops::cast(y_true, dtype()),
                                 ops::cast(y_pred, dtype()).with_mask(Tensor()), sample_weight);
  }
  Tensor result() const override { return ops::sqrt(MeanOfFunction::result()); }
};

}  // namespace

template <class Fields>
void visit_fields(Fields& fields, BinaryCrossentropyOptions& options) {
  fields("from_logits", options.from_logits);
  fields("label_smoothing", options.label_smoothing);
}
template <class Fields>
void visit_fields(Fields& fields, CategoricalCrossentropyOptions& options) {
  fields("from_logits", options.from_logits);
  fields("label_smoothing", options.label_smoothing);
  fields("axis", options.axis);
}
template <class Fields>
void visit_fields(Fields& fields, SparseCategoricalCrossentropyOptions& options) {
  fields("from_logits", options.from_logits);
  fields("ignore_class", options.ignore_class);
  fields("axis", options.axis);
}
template <class Fields>
void visit_fields(Fields& fields, CosineSimilarityOptions& options) {
  fields.unless_default("axis", options.axis, int64_t{-1});
}

BinaryCrossentropy::BinaryCrossentropy(const BinaryCrossentropyOptions& options)
    : Metric(mean_loss(
          "BinaryCrossentropy", base_options(options),
          [options](const Tensor& y_true, const Tensor& y_pred) {
            return losses::binary_crossentropy(y_true, y_pred, options.from_logits,
                                               options.label_smoothing);
          },
          config_of(options))) {}

CategoricalCrossentropy::CategoricalCrossentropy(const CategoricalCrossentropyOptions& options)
    : Metric(mean_loss(
          "CategoricalCrossentropy", base_options(options),
          [options](const Tensor& y_true, const Tensor& y_pred) {
            return losses::categorical_crossentropy(y_true, y_pred, options.from_logits,
                                                    options.label_smoothing, options.axis);
          },
          config_of(options))) {}

SparseCategoricalCrossentropy::SparseCategoricalCrossentropy(
    const SparseCategoricalCrossentropyOptions& options)
    : Metric(mean_loss(
          "SparseCategoricalCrossentropy", base_options(options),
          [options](const Tensor& y_true, const Tensor& y_pred) {
            return losses::sparse_categorical_crossentropy(y_true, y_pred, options.from_logits,
                                                           options.ignore_class, options.axis);
          },
          config_of(options))) {}

CosineSimilarity::CosineSimilarity(const CosineSimilarityOptions& options)
    : Metric(mean_loss(
          "CosineSimilarity", base_options(options),
          [axis = options.axis](const Tensor& y_true, const Tensor& y_pred) {
            return -losses::cosine_similarity(y_true, y_pred, axis);
          },
          config_of(options))) {}

KLDivergence::KLDivergence(const MetricOptions& options)
    : Metric(mean_loss("KLDivergence", options, losses::kl_divergence)) {}

Poisson::Poisson(const MetricOptions& options)
    : Metric(mean_loss("Poisson", options, losses::poisson)) {}

MeanSquaredError::MeanSquaredError(const MetricOptions& options)
    : Metric(mean_loss("MeanSquaredError", options, losses::mean_squared_error)) {}

RootMeanSquaredError::RootMeanSquaredError(const MetricOptions& options)
    : Metric(std::make_shared<RootMeanSquaredErrorImpl>(MetricOptions{
          options.name.empty() ? "root_mean_squared_error" : options.name, options.dtype})) {}

MeanAbsoluteError::MeanAbsoluteError(const MetricOptions& options)
    : Metric(mean_loss("MeanAbsoluteError", options, losses::mean_absolute_error)) {}

MeanAbsolutePercentageError::MeanAbsolutePercentageError(const MetricOptions& options)
    : Metric(mean_loss("MeanAbsolutePercentageError", options,
                       losses::mean_absolute_percentage_error)) {}

MeanSquaredLogarithmicError::MeanSquaredLogarithmicError(const MetricOptions& options)
    : Metric(mean_loss("MeanSquaredLogarithmicError", options,
                       losses::mean_squared_logarithmic_error)) {}

LogCoshError::LogCoshError(const MetricOptions& options)
    : Metric(mean_loss("LogCoshError",
                       {options.name.empty() ? "logcosh" : options.name, options.dtype},
                       losses::log_cosh)) {}

Hinge::Hinge(const MetricOptions& options) : Metric(mean_loss("Hinge", options, losses::hinge)) {}

SquaredHinge::SquaredHinge(const MetricOptions& options)
    : Metric(mean_loss("SquaredHinge", options, losses::squared_hinge)) {}

CategoricalHinge::CategoricalHinge(const MetricOptions& options)
    : Metric(mean_loss("CategoricalHinge", options, losses::categorical_hinge)) {}

void register_of_losses(Registry<MetricFactory>& registry) {
  registry.add("BinaryCrossentropy",
               metric_from_config<BinaryCrossentropy, BinaryCrossentropyOptions>);
  registry.add("CategoricalCrossentropy",
               metric_from_config<CategoricalCrossentropy, CategoricalCrossentropyOptions>);
  registry.add(
      "SparseCategoricalCrossentropy",
      metric_from_config<SparseCategoricalCrossentropy, SparseCategoricalCrossentropyOptions>);
  registry.add("CosineSimilarity", metric_from_config<CosineSimilarity, CosineSimilarityOptions>);
  registry.add("KLDivergence", metric_from_config<KLDivergence>);
  registry.add("Poisson", metric_from_config<Poisson>);
  registry.add("MeanSquaredError", metric_from_config<MeanSquaredError>);
  registry.add("RootMeanSquaredError", metric_from_config<RootMeanSquaredError>);
  registry.add("MeanAbsoluteError", metric_from_config<MeanAbsoluteError>);
  registry.add("MeanAbsolutePercentageError", metric_from_config<MeanAbsolutePercentageError>);
  registry.add("MeanSquaredLogarithmicError", metric_from_config<MeanSquaredLogarithmicError>);
  registry.add("LogCoshError", metric_from_config<LogCoshError>);
  registry.add("Hinge", metric_from_config<Hinge>);
  registry.add("SquaredHinge", metric_from_config<SquaredHinge>);
  registry.add("CategoricalHinge", metric_from_config<CategoricalHinge>);
  const std::pair<const char*, const char*> aliases[] = {
      {"bce", "BinaryCrossentropy"},
      {"BCE", "BinaryCrossentropy"},
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

}  // namespace cornu::metrics
