// SPDX-License-Identifier: Apache-2.0
// Training runs that are killed and resumed within one process.
#pragma once

#include <doctest/doctest.h>

#include <exception>
#include <optional>
#include <string>
#include <vector>

#include <cornu/cornu.h>

#include "tests/support/files.h"
#include "tests/support/log.h"

namespace cornu::testing {

struct Killed : std::exception {};

// Throws after a batch, counted from the start of training.
class KillAt : public Callback {
 public:
  explicit KillAt(std::optional<int64_t> batch) : batch_(batch) {}
  void on_train_batch_end(int64_t, const Logs&) override {
    if (batch_ && seen_++ == *batch_) throw Killed();
  }

 private:
  std::optional<int64_t> batch_;
  int64_t seen_ = 0;
};

inline std::string bytes_of(const Tensor& tensor) {
  std::string bytes(tensor.bytes(), '\0');
  tensor.copy_to_host(reinterpret_cast<std::byte*>(bytes.data()));
  return bytes;
}

// 22 examples of three classes.
inline Tensor inputs() { return random::normal({22, 4}, {.seed = 3}); }
inline Tensor labels() { return random::randint({22}, 0, 3, {.seed = 4}); }

// A compiled model in a new session.
inline Sequential new_model(const Optimizer& optimizer) {
  clear_session();
  Sequential model({layers::Dense({.units = 3, .activation = "softmax"})});
  model.compile({.optimizer = optimizer, .loss = "sparse_categorical_crossentropy"});
  return model;
}

// A run that is killed after a number of batches, and the same program with changed parts.
struct Changed {
  TempFolder folder = {};
  test::Log log = {};

  Sequential compiled(const Optimizer& optimizer) const { return new_model(optimizer); }
  void fit(Sequential& model, std::vector<CallbackHandle> callbacks,
           std::optional<int64_t> killed_at = {}) const {
    callbacks.push_back(
        callbacks::BackupAndRestore({.backup_dir = folder / "backup", .save_freq = 1}));
    callbacks.push_back(make_callback<KillAt>(killed_at));
    model.fit(inputs(), labels(),
              {.batch_size = 4, .epochs = 2, .verbose = 0, .callbacks = callbacks});
  }
  void kill(const std::vector<CallbackHandle>& callbacks) const {
    set_random_seed(11);
    Sequential model = compiled(optimizers::Adam({.learning_rate = 0.01}));
    CHECK_THROWS_AS(fit(model, callbacks, 7), Killed);
  }
};

}  // namespace cornu::testing
