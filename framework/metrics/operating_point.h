// SPDX-License-Identifier: Apache-2.0
// The best value of a metric at thresholds where another metric is high enough.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/metrics/metric.h"

namespace cornu::metrics {

// Each metric below computes counts as Precision and Recall do, at `num_thresholds` thresholds
// evenly spaced over [0, 1] (0.5 for a single one), and returns the largest value of one ratio
// among the thresholds where another ratio is at least the given value; 0 if there is no such
// threshold. Precision is TP / (TP + FP), recall and sensitivity TP / (TP + FN), specificity TN /
// (TN + FP); 0 if the denominator is 0.
//
// Options: the first is required, in [0, 1]; num_thresholds > 0; class_id: use only this column of
// y_pred; an empty name defaults to the class in snake_case, made unique; dtype: as in
// ConfusionOptions.

struct SensitivityAtSpecificityOptions {
  std::optional<double> specificity = {};
  int64_t num_thresholds = 200;
  std::optional<int64_t> class_id = {};
  std::string name = {};
  DTypeName dtype = {};
};
class SensitivityAtSpecificity final : public Metric {
 public:
  explicit SensitivityAtSpecificity(const SensitivityAtSpecificityOptions& options);
};

struct SpecificityAtSensitivityOptions {
  std::optional<double> sensitivity = {};
  int64_t num_thresholds = 200;
  std::optional<int64_t> class_id = {};
  std::string name = {};
  DTypeName dtype = {};
};
class SpecificityAtSensitivity final : public Metric {
 public:
  explicit SpecificityAtSensitivity(const SpecificityAtSensitivityOptions& options);
};

struct PrecisionAtRecallOptions {
  std::optional<double> recall = {};
  int64_t num_thresholds = 200;
  std::optional<int64_t> class_id = {};
  std::string name = {};
  DTypeName dtype = {};
};
class PrecisionAtRecall final : public Metric {
 public:
  explicit PrecisionAtRecall(const PrecisionAtRecallOptions& options);
};

struct RecallAtPrecisionOptions {
  std::optional<double> precision = {};
  int64_t num_thresholds = 200;
  std::optional<int64_t> class_id = {};
  std::string name = {};
  DTypeName dtype = {};
};
class RecallAtPrecision final : public Metric {
 public:
  explicit RecallAtPrecision(const RecallAtPrecisionOptions& options);
};

}  // namespace cornu::metrics
