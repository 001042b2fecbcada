// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "framework/callbacks/callback.h"

namespace cornu::callbacks {

struct TerminateOnNaNOptions {
  bool raise_error = false;  // OutOfRange leaves fit, without on_train_end
};

// Ends training when the loss is no finite number (keras.callbacks.TerminateOnNaN). It looks at
// every batch, so fit reads the metrics of each.
class TerminateOnNaN : public CallbackHandle {
 public:
  explicit TerminateOnNaN(const TerminateOnNaNOptions& options = {});
};

}  // namespace cornu::callbacks
