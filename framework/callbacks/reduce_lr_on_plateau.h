// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "framework/callbacks/callback.h"

namespace cornu::callbacks {

struct ReduceLROnPlateauOptions {
  std::string monitor = "val_loss";
  double factor = 0.1;        // multiplies the learning rate, below 1
  int64_t patience = 10;      // epochs without improvement before it is reduced
  int verbose = 0;            // 1: log the new rate
  std::string mode = "auto";  // "min", "max", or "auto": determined by the metric
  double min_delta = 1e-4;    // smaller changes don't count as improvement
  int64_t cooldown = 0;       // epochs after a reduction that are ignored
  double min_lr = 0;
};

// Reduces the learning rate when a metric has stopped improving
// (keras.callbacks.ReduceLROnPlateau), and adds "learning_rate" to the epoch's logs. A missing
// metric only logs a warning. Its state is part of a resumed run. Throws InvalidArgument for a
// factor of 1 or more; FailedPrecondition for an optimizer whose rate is a schedule.
class ReduceLROnPlateau final : public CallbackHandle {
 public:
  explicit ReduceLROnPlateau(const ReduceLROnPlateauOptions& options = {});
};

}  // namespace cornu::callbacks
