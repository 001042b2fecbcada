// SPDX-License-Identifier: Apache-2.0
// The best that a threshold can be chosen for, while something else is as good as it must be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/metrics/metric.h"

namespace cornu::metrics {

// Each metric below counts as Precision and Recall do, at `num_thresholds` thresholds spread evenly
// over [0, 1] (0.5 for one), and gives the largest value of one ratio among the thresholds where
// another one is at least what is asked for; 0 where no threshold reaches that. Precision is
// TP / (TP + FP), recall and sensitivity TP / (TP + FN), specificity TN / (TN + FP); 0 where there
// is nothing to divide by.
//
// Options: the first must be given, in [0, 1]; num_thresholds > 0; class_id: look at this column of
// y_pred only; an empty name is the snake_case of the class, made unique; dtype: as in
// ConfusionOptions.

struct SensitivityAtSpecificityOptions {
  std::optional<double> specificity = {};
  int64_t num_thresholds = 200;
  std::optional<int64_t> class_id = {};
  std::string name = {};
  DTypeName dtype = {};
};
class SensitivityAtSpecificity : public Metric {
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
class SpecificityAtSensitivity : public Metric {
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
class PrecisionAtRecall : public Metric {
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
class RecallAtPrecision : public Metric {
 public:
  explicit RecallAtPrecision(const RecallAtPrecisionOptions& options);
};

}  // namespace cornu::metrics
