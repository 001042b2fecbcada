// SPDX-License-Identifier: Apache-2.0
// A fit without data for tests of callbacks.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "framework/callbacks/callback.h"
#include "framework/ops/ops.h"
#include "framework/train/model.h"
#include "framework/train/model_in_training.h"
#include "optimizers/optimizers.h"

namespace cornu::test {

// A model with two weights, which is "trained" by setting them.
class Toy : public Model {
 public:
  Toy() : weights_(track("weights", Variable(Tensor::from<float>({0, 0})))) { set_built(); }
  Tensor call(const Tensor& x, const CallArgs&) override { return x * weights_; }
  void set(float value) { weights_.assign(Tensor::from<float>({value, -value})); }
  float get() const { return weights_.value().data<float>()[0]; }

 private:
  Variable weights_;
};

// A fit of Toy without any data: the test specifies the metrics of each epoch.
class Fit {
 public:
  explicit Fit(std::vector<CallbackHandle> callbacks, const CompileOptions& options = {})
      : list_(std::move(callbacks), in_training(model), {.verbose = 0, .epochs = 100, .steps = 2}) {
    model.compile(options);
    list_.on_train_begin();
  }

  // Trains an epoch, after which the weight equals the epoch's number. Returns the logs that go
  // into the history.
  Logs epoch(const Logs& logs) {
    list_.on_epoch_begin(epochs_);
    model.set(static_cast<float>(epochs_));
    return list_.on_epoch_end(epochs_++, logs);
  }
  // Continues training until a callback stops it. Returns the total number of epochs.
  int64_t losses(const std::vector<double>& values, const std::string& name = "val_loss") {
    for (double value : values) {
      if (model.stop_training) break;
      epoch({{name, value}});
    }
    return epochs_;
  }
  void end() {
    for (const bool keepers : {false, true}) list_.on_train_end(keepers);
  }
  double rate() const { return model.optimizer().learning_rate().item<double>(); }
  CallbackList& list() { return list_; }

  Toy model;

 private:
  CallbackList list_;
  int64_t epochs_ = 0;
};

inline CompileOptions with_rate(double rate) {
  return {.optimizer = optimizers::SGD({.learning_rate = rate})};
}

}  // namespace cornu::test
