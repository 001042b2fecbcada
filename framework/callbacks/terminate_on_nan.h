// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "framework/callbacks/callback.h"

namespace cornu::callbacks {

struct TerminateOnNaNOptions {
  bool raise_error = false;  // fit throws OutOfRange, without calling on_train_end
};

// Stops training when the loss is NaN or infinite (keras.callbacks.TerminateOnNaN). It checks every
// batch, so fit reads the metrics of each.
class TerminateOnNaN final : public CallbackHandle {
 public:
  explicit TerminateOnNaN(const TerminateOnNaNOptions& options = {});
};

}  // namespace cornu::callbacks
