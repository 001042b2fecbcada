// SPDX-License-Identifier: Apache-2.0
// Accuracy metrics.
#pragma once

#include <cstdint>
#include <string>

#include "framework/metrics/metric.h"

namespace cornu::metrics {

// ---- 1 for a correct prediction, else 0 (float32) ----

Tensor binary_accuracy(const Tensor& y_true, const Tensor& y_pred, double threshold = 0.5);
Tensor categorical_accuracy(const Tensor& y_true, const Tensor& y_pred);
Tensor sparse_categorical_accuracy(const Tensor& y_true, const Tensor& y_pred);
Tensor top_k_categorical_accuracy(const Tensor& y_true, const Tensor& y_pred, int64_t k = 5);
Tensor sparse_top_k_categorical_accuracy(const Tensor& y_true, const Tensor& y_pred, int64_t k = 5,
                                         bool from_sorted_ids = false);

// ---- metrics ----

// How often y_pred equals y_true.
class Accuracy final : public Metric {
 public:
  explicit Accuracy(const MetricOptions& options = {});
};

struct BinaryAccuracyOptions {
  std::string name = "binary_accuracy";
  DTypeName dtype = {};
  double threshold = 0.5;
};
// How often y_pred is on the same side of the threshold as y_true (1 above it).
class BinaryAccuracy final : public Metric {
 public:
  explicit BinaryAccuracy(const BinaryAccuracyOptions& options = {});
};

// How often the largest prediction is at the position of the largest label (one-hot).
class CategoricalAccuracy final : public Metric {
 public:
  explicit CategoricalAccuracy(const MetricOptions& options = {});
};

// How often the largest prediction is at index y_true.
class SparseCategoricalAccuracy final : public Metric {
 public:
  explicit SparseCategoricalAccuracy(const MetricOptions& options = {});
};

struct TopKCategoricalAccuracyOptions {
  int64_t k = 5;
  std::string name = "top_k_categorical_accuracy";
  DTypeName dtype = {};
};
// How often the position of the largest label is among the k largest predictions.
class TopKCategoricalAccuracy final : public Metric {
 public:
  explicit TopKCategoricalAccuracy(const TopKCategoricalAccuracyOptions& options = {});
};

struct SparseTopKCategoricalAccuracyOptions {
  int64_t k = 5;
  std::string name = "sparse_top_k_categorical_accuracy";
  DTypeName dtype = {};
  bool from_sorted_ids = false;  // y_pred holds class indices, best first
};
// How often index y_true is among the k largest predictions.
class SparseTopKCategoricalAccuracy final : public Metric {
 public:
  explicit SparseTopKCategoricalAccuracy(const SparseTopKCategoricalAccuracyOptions& options = {});
};

}  // namespace cornu::metrics
