// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/callbacks/callback.h"

namespace cornu::callbacks {

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  double min_delta = 0;                 // a smaller change is no improvement
  int64_t patience = 0;                 // epochs without improvement before training ends
  int verbose = 0;                      // 1: logs what it does
  std::string mode = "auto";            // "min", "max", or "auto": by what the metric is
  std::optional<double> baseline = {};  // to be beaten too, before patience starts anew
  bool restore_best_weights = false;    // at the end of training
  int64_t start_from_epoch = 0;         // epochs before aren't judged
};

// Ends training when a metric has stopped improving (keras.callbacks.EarlyStopping). A metric that
// isn't there is a warning. Its state, best weights included, is part of a restored run.
class EarlyStopping : public CallbackHandle {
 public:
  explicit EarlyStopping(const EarlyStoppingOptions& options = {});

  int64_t stopped_epoch() const;  // counted from 0; 0 when it didn't stop training
  int64_t best_epoch() const;
  std::optional<double> best() const;
};

}  // namespace cornu::callbacks
