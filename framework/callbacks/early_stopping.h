// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/callbacks/callback.h"

namespace cornu::callbacks {

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  double min_delta = 0;                 // smaller changes don't count as improvement
  int64_t patience = 0;                 // epochs without improvement before training ends
  int verbose = 0;                      // 1: logs what it does
  std::string mode = "auto";            // "min", "max", or "auto": determined by the metric
  std::optional<double> baseline = {};  // must be exceeded as well to reset patience
  bool restore_best_weights = false;    // at the end of training
  int64_t start_from_epoch = 0;         // earlier epochs are ignored
};

// Stops training when a metric has stopped improving (keras.callbacks.EarlyStopping). A missing
// metric only logs a warning. Its state, including the best weights, is part of a resumed run.
class EarlyStopping final : public CallbackHandle {
 public:
  explicit EarlyStopping(const EarlyStoppingOptions& options = {});

  int64_t stopped_epoch() const;  // counted from 0; 0 if it didn't stop training
  int64_t best_epoch() const;
  std::optional<double> best() const;
};

}  // namespace cornu::callbacks
