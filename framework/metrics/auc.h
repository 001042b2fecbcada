// SPDX-License-Identifier: Apache-2.0
// The area under a curve computed from confusion counts at a series of thresholds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/metrics/metric.h"

namespace cornu::metrics {

struct AUCOptions {
  int64_t num_thresholds = 200;                    // evenly spaced over [0, 1]; at least 2
  std::string curve = "ROC";                       // or "PR", "PRGAIN"
  std::string summation_method = "interpolation";  // or "minoring", "majoring"
  std::string name = {};                           // empty: "auc", made unique
  DTypeName dtype = {};                            // of label_weights; counts are float32
  std::vector<double> thresholds = {};             // replaces num_thresholds; 0 and 1 are added
  bool multi_label = false;                        // average the areas of the columns
  std::optional<int64_t> num_labels = {};          // number of columns, for multi_label
  std::vector<double> label_weights = {};          // one per column
  bool from_logits = false;                        // apply a sigmoid to y_pred first
};

// The area under the ROC curve (true-positive rate over false-positive rate) or the
// precision-recall curve, approximated with as many steps as there are thresholds. Predictions are
// in [0, 1].
class AUC final : public Metric {
 public:
  explicit AUC(const AUCOptions& options = {});
};

}  // namespace cornu::metrics
