// SPDX-License-Identifier: Apache-2.0
// Counts of true and false positives and negatives, and ratios of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/metrics/metric.h"

namespace cornu::metrics {

// Predictions above a threshold are positive, as are labels other than 0. The result is a scalar
// for a single threshold, otherwise a vector with one value per threshold.
struct ConfusionOptions {
  std::vector<double> thresholds = {};  // each in [0, 1]; empty: 0.5
  std::string name = {};                // empty: unique, from the class in snake_case
  DTypeName dtype = {};                 // only kept for configs: counts are float32 (as in Keras)
};

class TruePositives final : public Metric {
 public:
  explicit TruePositives(const ConfusionOptions& options = {});
};
class FalsePositives final : public Metric {
 public:
  explicit FalsePositives(const ConfusionOptions& options = {});
};
class TrueNegatives final : public Metric {
 public:
  explicit TrueNegatives(const ConfusionOptions& options = {});
};
class FalseNegatives final : public Metric {
 public:
  explicit FalseNegatives(const ConfusionOptions& options = {});
};

struct PrecisionOptions {
  std::vector<double> thresholds = {};   // each in [0, 1]; empty: 0.5, or none with top_k
  std::optional<int64_t> top_k = {};     // only the k largest predictions may be positive
  std::optional<int64_t> class_id = {};  // use only this column
  std::string name = {};
  DTypeName dtype = {};  // see ConfusionOptions
};
// True positives divided by all predicted positives; 0 if there are none.
class Precision final : public Metric {
 public:
  explicit Precision(const PrecisionOptions& options = {});
};
// True positives divided by all actual positives; 0 if there are none.
class Recall final : public Metric {
 public:
  explicit Recall(const PrecisionOptions& options = {});
};

// ---- for metrics in this directory ----

// Specifies how labels and predictions are counted.
struct ConfusionRule {
  std::vector<double> thresholds;  // ascending when `evenly`
  bool evenly = false;             // i / (n - 1), the ends possibly moved outwards by 1e-7
  std::optional<int64_t> top_k = {};
  std::optional<int64_t> class_id = {};
  bool multi_label = false;   // count each column separately
  Tensor label_weights = {};  // one per column, if not multi_label
};

// One count per threshold, with a further axis for columns if multi_label.
struct ConfusionCounts {
  Tensor true_positives;
  Tensor false_positives;
  Tensor true_negatives;
  Tensor false_negatives;
};

// Returns the weighted counts of one batch. With evenly spaced thresholds, each prediction is
// assigned once to the bucket between two thresholds, and counts are sums over buckets, so the cost
// doesn't grow with the number of thresholds.
ConfusionCounts confusion_counts(const ConfusionRule& rule, const Tensor& y_true,
                                 const Tensor& y_pred, const Tensor& sample_weight);

// Whether thresholds are i / (n - 1) up to 1e-7, with at least three of them.
bool evenly_distributed(const std::vector<double>& thresholds);

}  // namespace cornu::metrics
