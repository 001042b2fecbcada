// SPDX-License-Identifier: Apache-2.0
// F-scores: means of precision and recall.
#pragma once

#include <optional>
#include <string>

#include "framework/metrics/metric.h"

namespace cornu::metrics {

struct FBetaScoreOptions {
  // How to average the scores of classes: "micro" counts all classes together, "macro" is the
  // unweighted mean, "weighted" the mean weighted by how often each class occurs in the labels.
  // Empty: a vector with a score per class, which fit can't display.
  std::string average = {};
  double beta = 1.0;  // > 0: recall is beta times as important as precision
  // In (0, 1]; predictions above it are positive. None: the largest prediction of each row is
  // positive, unless it is 0.
  std::optional<double> threshold = {};
  std::string name = "fbeta_score";
  DTypeName dtype = {};  // a floating dtype
};
// (1 + beta^2) * precision * recall / (beta^2 * precision + recall), for one-hot or multi-hot
// labels.
//
// y_true, y_pred: (batch, classes). `sample_weight`: (batch) or (batch, 1). The variables are
// created in the first update, according to the number of classes.
class FBetaScore final : public Metric {
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
class F1Score final : public Metric {
 public:
  explicit F1Score(const F1ScoreOptions& options = {});
};

}  // namespace cornu::metrics
