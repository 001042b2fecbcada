// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "framework/callbacks/callback.h"
#include "framework/callbacks/progbar.h"

namespace cornu::callbacks {

// Prints the progress bar of fit, evaluate and predict (keras.callbacks.ProgbarLogger), which add
// one themselves, unless they are silent. On a terminal, the bar of verbose = 1 is redrawn in
// place; otherwise there is one line per epoch, without control bytes.
class ProgbarLogger final : public CallbackHandle {
 public:
  explicit ProgbarLogger(const ProgbarOutput& output = {});
};

bool is_progbar_logger(const CallbackHandle& callback);

}  // namespace cornu::callbacks
