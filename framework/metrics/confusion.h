// SPDX-License-Identifier: Apache-2.0
// Counts of right and wrong positives and negatives, and ratios of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/metrics/metric.h"

namespace cornu::metrics {

// Above a threshold a prediction is positive. The result is a scalar with one threshold, else a
// vector by threshold. Labels other than 0 are positive.
struct ConfusionOptions {
  std::vector<double> thresholds = {};  // each in [0, 1]; empty: 0.5
  std::string name = {};                // empty: the snake_case of the class, made unique
  DTypeName dtype = {};                 // is kept for configs: counts are float32 (Keras's rule)
};

class TruePositives : public Metric {
 public:
  explicit TruePositives(const ConfusionOptions& options = {});
};
class FalsePositives : public Metric {
 public:
  explicit FalsePositives(const ConfusionOptions& options = {});
};
class TrueNegatives : public Metric {
 public:
  explicit TrueNegatives(const ConfusionOptions& options = {});
};
class FalseNegatives : public Metric {
 public:
  explicit FalseNegatives(const ConfusionOptions& options = {});
};

struct PrecisionOptions {
  std::vector<double> thresholds = {};   // each in [0, 1]; empty: 0.5, or none with top_k
  std::optional<int64_t> top_k = {};     // only the k largest predictions may be positive
  std::optional<int64_t> class_id = {};  // look at this column only
  std::string name = {};
  DTypeName dtype = {};  // see ConfusionOptions
};
// True positives among all that were predicted positive; 0 where there are none.
class Precision : public Metric {
 public:
  explicit Precision(const PrecisionOptions& options = {});
};
// True positives among all that are positive; 0 where there are none.
class Recall : public Metric {
 public:
  explicit Recall(const PrecisionOptions& options = {});
};

// ---- for metrics of this folder ----

// How labels and predictions are counted.
struct ConfusionRule {
  std::vector<double> thresholds;  // ascending when `evenly`
  bool evenly = false;             // i / (n - 1), the ends maybe moved outwards by 1e-7
  std::optional<int64_t> top_k = {};
  std::optional<int64_t> class_id = {};
  bool multi_label = false;   // count each column by itself
  Tensor label_weights = {};  // by column, without multi_label
};

// By threshold, then by column with multi_label; undefined where it isn't wanted.
struct ConfusionCounts {
  Tensor true_positives;
  Tensor false_positives;
  Tensor true_negatives;
  Tensor false_negatives;
};

// The weighted counts of one batch. With even thresholds each prediction is put into the bucket
// between two of them once, and counts are sums over buckets: the work doesn't grow with the number
// of thresholds.
ConfusionCounts confusion_counts(const ConfusionRule& rule, const Tensor& y_true,
                                 const Tensor& y_pred, const Tensor& sample_weight);

// Whether thresholds are i / (n - 1), up to 1e-7; at least three.
bool evenly_distributed(const std::vector<double>& thresholds);

}  // namespace cornu::metrics
