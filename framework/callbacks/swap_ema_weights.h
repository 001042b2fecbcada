// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "framework/callbacks/callback.h"

namespace cornu::callbacks {

struct SwapEMAWeightsOptions {
  bool swap_on_epoch = false;  // also between epochs, for callbacks that save the model at that
                               // time
};

// Swaps the model's weights with their moving averages (requires an optimizer with use_ema,
// otherwise throws InvalidArgument) during evaluation and prediction, including validation in fit
// (keras.callbacks.SwapEMAWeights; Keras's leaves the averages in the model after a prediction).
// With swap_on_epoch, callbacks after this one see the averages in the model at the end of an
// epoch.
class SwapEMAWeights final : public CallbackHandle {
 public:
  explicit SwapEMAWeights(const SwapEMAWeightsOptions& options = {});
};

}  // namespace cornu::callbacks
