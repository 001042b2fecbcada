// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "framework/callbacks/callback.h"

namespace cornu::callbacks {

struct LambdaCallbackOptions {
  using OfLogs = std::function<void(const Logs& logs)>;
  using OfIndex = std::function<void(int64_t index, const Logs& logs)>;  // epoch or batch, from 0

  OfIndex on_epoch_begin = {};
  OfIndex on_epoch_end = {};
  OfLogs on_train_begin = {};
  OfLogs on_train_end = {};
  OfIndex on_train_batch_begin = {};
  OfIndex on_train_batch_end = {};
  OfLogs on_test_begin = {};
  OfLogs on_test_end = {};
  OfIndex on_test_batch_begin = {};
  OfIndex on_test_batch_end = {};
  OfLogs on_predict_begin = {};
  OfLogs on_predict_end = {};
  OfIndex on_predict_batch_begin = {};
  OfIndex on_predict_batch_end = {};
};

// A callback made of functions (keras.callbacks.LambdaCallback); empty ones are no-ops.
class LambdaCallback final : public CallbackHandle {
 public:
  explicit LambdaCallback(const LambdaCallbackOptions& options);
};

}  // namespace cornu::callbacks
