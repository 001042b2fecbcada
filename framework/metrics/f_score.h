// SPDX-License-Identifier: Apache-2.0
// Means of precision and recall.
#pragma once

#include <optional>
#include <string>

#include "framework/metrics/metric.h"

namespace cornu::metrics {

struct FBetaScoreOptions {
  // How classes' scores become one: "micro" counts all classes together, "macro" is the mean,
  // "weighted" the mean weighted by how often labels have the class. Empty: a vector by class,
  // which fit can't show.
  std::string average = {};
  double beta = 1.0;  // > 0: recall counts beta times as much as precision
  // In (0, 1]; predictions above it are positive. Without it, each row's largest is, if it isn't 0.
  std::optional<double> threshold = {};
  std::string name = "fbeta_score";
  DTypeName dtype = {};  // a floating one
};
// (1 + beta^2) * precision * recall / (beta^2 * precision + recall), of one-hot or multi-hot
// labels.
//
// y_true, y_pred: (batch, classes). `sample_weight`: (batch) or (batch, 1). The variables are made
// in the first update, by the number of classes.
class FBetaScore : public Metric {
 public:
  explicit FBetaScore(const FBetaScoreOptions& options = {});
};

struct F1ScoreOptions {
  std::string average = {};
  std::optional<double> threshold = {};
  std::string name = "f1_score";
  DTypeName dtype = {};
};
// FBetaScore with beta 1: the harmonic mean of precision and recall.
class F1Score : public Metric {
 public:
  explicit F1Score(const F1ScoreOptions& options = {});
};

}  // namespace cornu::metrics
