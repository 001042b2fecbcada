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

std::shared_ptr<MetricImpl> make(const char* class_name, const MetricOptions& options,
                                 Function function, Json config = Json::object()) {
  return std::make_shared<MeanOfFunction>(
      class_name, options.name.empty() ? to_snake_case(class_name) : options.name,
      // Losses want floating predictions of at least 32 bits.
      [function = std::move(function)](const Tensor& y_true, const Tensor& y_pred) {
        return function(y_true, ops::cast(y_pred, DType::Float32));
      },
      std::move(config));
}

Tensor squared_errors(const Tensor& y_true, const Tensor& y_pred) {
  const auto [truth, pred] = operands(y_true, y_pred);
  return ops::square(pred - truth);
}

class RootMeanSquaredErrorImpl : public MeanOfFunction {
 public:
  explicit RootMeanSquaredErrorImpl(std::string name)
      : MeanOfFunction("RootMeanSquaredError", std::move(name), squared_errors) {}
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
    : Metric(make(
          "BinaryCrossentropy", {options.name},
          [options](const Tensor& y_true, const Tensor& y_pred) {
            return losses::binary_crossentropy(y_true, y_pred, options.from_logits,
                                               options.label_smoothing);
          },
          config_of(options))) {}

CategoricalCrossentropy::CategoricalCrossentropy(const CategoricalCrossentropyOptions& options)
    : Metric(make(
          "CategoricalCrossentropy", {options.name},
          [options](const Tensor& y_true, const Tensor& y_pred) {
            return losses::categorical_crossentropy(y_true, y_pred, options.from_logits,
                                                    options.label_smoothing, options.axis);
          },
          config_of(options))) {}

SparseCategoricalCrossentropy::SparseCategoricalCrossentropy(
    const SparseCategoricalCrossentropyOptions& options)
    : Metric(make(
          "SparseCategoricalCrossentropy", {options.name},
          [options](const Tensor& y_true, const Tensor& y_pred) {
            return losses::sparse_categorical_crossentropy(y_true, y_pred, options.from_logits,
                                                           options.ignore_class, options.axis);
          },
          config_of(options))) {}

CosineSimilarity::CosineSimilarity(const CosineSimilarityOptions& options)
    : Metric(make(
          "CosineSimilarity", {options.name},
          [axis = options.axis](const Tensor& y_true, const Tensor& y_pred) {
            return -losses::cosine_similarity(y_true, y_pred, axis);
          },
          config_of(options))) {}

KLDivergence::KLDivergence(const MetricOptions& options)
    : Metric(make("KLDivergence", options, losses::kl_divergence)) {}

Poisson::Poisson(const MetricOptions& options)
    : Metric(make("Poisson", options, losses::poisson)) {}

MeanSquaredError::MeanSquaredError(const MetricOptions& options)
    : Metric(make("MeanSquaredError", options, losses::mean_squared_error)) {}

RootMeanSquaredError::RootMeanSquaredError(const MetricOptions& options)
    : Metric(std::make_shared<RootMeanSquaredErrorImpl>(
          options.name.empty() ? "root_mean_squared_error" : options.name)) {}

MeanAbsoluteError::MeanAbsoluteError(const MetricOptions& options)
    : Metric(make("MeanAbsoluteError", options, losses::mean_absolute_error)) {}

MeanAbsolutePercentageError::MeanAbsolutePercentageError(const MetricOptions& options)
    : Metric(make("MeanAbsolutePercentageError", options, losses::mean_absolute_percentage_error)) {
}

MeanSquaredLogarithmicError::MeanSquaredLogarithmicError(const MetricOptions& options)
    : Metric(make("MeanSquaredLogarithmicError", options, losses::mean_squared_logarithmic_error)) {
}

LogCoshError::LogCoshError(const MetricOptions& options)
    : Metric(make("LogCoshError", {options.name.empty() ? "logcosh" : options.name},
                  losses::log_cosh)) {}

Hinge::Hinge(const MetricOptions& options) : Metric(make("Hinge", options, losses::hinge)) {}

SquaredHinge::SquaredHinge(const MetricOptions& options)
    : Metric(make("SquaredHinge", options, losses::squared_hinge)) {}

CategoricalHinge::CategoricalHinge(const MetricOptions& options)
    : Metric(make("CategoricalHinge", options, losses::categorical_hinge)) {}

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
