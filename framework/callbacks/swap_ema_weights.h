// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "framework/callbacks/callback.h"

namespace cornu::callbacks {

struct SwapEMAWeightsOptions {
  bool swap_on_epoch = false;  // also between epochs, for callbacks that save the model then
};

// Exchanges the model's weights with their averages (an optimizer with use_ema, InvalidArgument
// else) while it is evaluated or predicts, validation in fit included
// (keras.callbacks.SwapEMAWeights; Keras's leaves the averages in the model after a prediction).
// With swap_on_epoch, callbacks after this one find the averages in the model at an epoch's end.
class SwapEMAWeights : public CallbackHandle {
 public:
  explicit SwapEMAWeights(const SwapEMAWeightsOptions& options = {});
};

}  // namespace cornu::callbacks
