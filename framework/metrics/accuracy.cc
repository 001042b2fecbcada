// SPDX-License-Identifier: Apache-2.0
#include "framework/metrics/accuracy.h"

#include "framework/losses/operands.h"
#include "framework/metrics/reduction.h"
#include "framework/metrics/register.h"
#include "framework/ops/ops.h"

namespace cornu::metrics {
namespace {

Tensor as_float(const Tensor& matches) { return ops::cast(matches, DType::Float32); }

// Gives y_true and y_pred the same rank and checks that their shapes match.
Matched matched(const Tensor& y_true, const Tensor& y_pred) {
  Matched result = squeeze_or_expand_to_same_rank(y_true, y_pred);
  check<InvalidArgument>(result.y_true.shape() == result.y_pred.shape(),
                         "expected y_true of y_pred's shape {}, got {}. Reshape one of them.",
                         y_pred.shape(), y_true.shape());
  return result;
}

// Reshapes (…, classes) and labels for its leading axes to (rows, classes) and (rows).
Tensor in_top_k(const Tensor& labels, const Tensor& y_pred, int64_t k) {
  const Tensor rows = ops::reshape(y_pred, {-1, y_pred.shape().back()});
  return ops::reshape(as_float(ops::in_top_k(ops::reshape(labels, {-1}), rows, k)), labels.shape());
}

Tensor accuracy(const Tensor& y_true, const Tensor& y_pred) {
  const auto [truth, pred] = matched(ops::cast(y_true, y_pred.dtype()), y_pred);
  return as_float(ops::equal(truth, pred));
}

}  // namespace

Tensor binary_accuracy(const Tensor& y_true, const Tensor& y_pred, double threshold) {
  const auto [truth, pred] = matched(y_true, y_pred);
  const Tensor decided = ops::cast(pred > threshold, truth.dtype());
  return as_float(ops::equal(truth, decided));
}

Tensor categorical_accuracy(const Tensor& y_true, const Tensor& y_pred) {
  const auto [truth, pred] = matched(y_true, y_pred);
  return as_float(ops::equal(ops::argmax(truth, -1), ops::argmax(pred, -1)));
}

Tensor sparse_categorical_accuracy(const Tensor& y_true, const Tensor& y_pred) {
  const Tensor matches =
      as_float(ops::equal(class_indices(y_true, y_pred), ops::argmax(y_pred, -1)));
  if (matches.rank() < 2 || matches.shape().back() != 1) return matches;
  return ops::reshape(matches, matches.shape().slice(0, matches.rank() - 1));
}

Tensor top_k_categorical_accuracy(const Tensor& y_true, const Tensor& y_pred, int64_t k) {
  const auto [truth, pred] = matched(y_true, y_pred);
  return in_top_k(ops::argmax(truth, -1), pred, k);
}

Tensor sparse_top_k_categorical_accuracy(const Tensor& y_true, const Tensor& y_pred, int64_t k,
                                         bool from_sorted_ids) {
  const Tensor labels = class_indices(y_true, y_pred);
  if (!from_sorted_ids) return in_top_k(labels, y_pred, k);
  const int64_t count = std::min(k, y_pred.shape().back());
  const Tensor ids = ops::cast(ops::slice_axis(y_pred, -1, 0, count), DType::Int32);
  return as_float(ops::any(ops::equal(ops::expand_dims(labels, -1), ids), -1));
}

template <class Fields>
void visit_fields(Fields& fields, BinaryAccuracyOptions& options) {
  fields("threshold", options.threshold);
}
template <class Fields>
void visit_fields(Fields& fields, TopKCategoricalAccuracyOptions& options) {
  fields("k", options.k);
}
template <class Fields>
void visit_fields(Fields& fields, SparseTopKCategoricalAccuracyOptions& options) {
  fields("k", options.k);
  fields.unless_default("from_sorted_ids", options.from_sorted_ids, false);
}

Accuracy::Accuracy(const MetricOptions& options)
    : Metric(mean_of_function("Accuracy", options, accuracy)) {}

BinaryAccuracy::BinaryAccuracy(const BinaryAccuracyOptions& options)
    : Metric(mean_of_function(
          "BinaryAccuracy", base_options(options),
          [threshold = options.threshold](const Tensor& y_true, const Tensor& y_pred) {
            return binary_accuracy(y_true, y_pred, threshold);
          },
          config_of(options))) {}

CategoricalAccuracy::CategoricalAccuracy(const MetricOptions& options)
    : Metric(mean_of_function("CategoricalAccuracy", options, categorical_accuracy)) {}

SparseCategoricalAccuracy::SparseCategoricalAccuracy(const MetricOptions& options)
    : Metric(mean_of_function("SparseCategoricalAccuracy", options, sparse_categorical_accuracy)) {}

TopKCategoricalAccuracy::TopKCategoricalAccuracy(const TopKCategoricalAccuracyOptions& options)
    : Metric(mean_of_function(
          "TopKCategoricalAccuracy", base_options(options),
          [k = options.k](const Tensor& y_true, const Tensor& y_pred) {
            return top_k_categorical_accuracy(y_true, y_pred, k);
          },
          config_of(options))) {}

SparseTopKCategoricalAccuracy::SparseTopKCategoricalAccuracy(
    const SparseTopKCategoricalAccuracyOptions& options)
    : Metric(mean_of_function(
          "SparseTopKCategoricalAccuracy", base_options(options),
          [k = options.k, sorted = options.from_sorted_ids](const Tensor& y_true,
                                                            const Tensor& y_pred) {
            return sparse_top_k_categorical_accuracy(y_true, y_pred, k, sorted);
          },
          config_of(options))) {}

void register_accuracy(Registry<MetricFactory>& registry) {
  registry.add("Accuracy", metric_from_config<Accuracy>);
  registry.add("BinaryAccuracy", metric_from_config<BinaryAccuracy, BinaryAccuracyOptions>);
  registry.add("CategoricalAccuracy", metric_from_config<CategoricalAccuracy>);
  registry.add("SparseCategoricalAccuracy", metric_from_config<SparseCategoricalAccuracy>);
  registry.add("TopKCategoricalAccuracy",
               metric_from_config<TopKCategoricalAccuracy, TopKCategoricalAccuracyOptions>);
  registry.add(
      "SparseTopKCategoricalAccuracy",
      metric_from_config<SparseTopKCategoricalAccuracy, SparseTopKCategoricalAccuracyOptions>);
}

}  // namespace cornu::metrics
