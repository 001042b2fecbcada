// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/progbar_logger.h"

#include <fmt/format.h>

#include <algorithm>

#include "framework/io/console.h"

namespace cornu::callbacks {
namespace {

class ProgbarLoggerImpl : public Callback {
 public:
  explicit ProgbarLoggerImpl(ProgbarOutput output) : output_(std::move(output)) {
    if (!output_.write) {
      output_.write = console::write;
      if (!output_.columns) output_.columns = console::columns;
    }
    if (output_.display == ProgbarDisplay::Auto) {
      output_.display = console::is_terminal() ? ProgbarDisplay::Redraw : ProgbarDisplay::Final;
    }
  }

  std::string class_name() const override { return "ProgbarLogger"; }

  // Without a moving bar, batches are needed only to count them.
  bool wants_batches() const override {
    const bool moves = params().verbose == 1 && output_.display != ProgbarDisplay::Final;
    return moves || !params().steps;
  }

  void on_train_begin(const Logs&) override {
    in_fit_ = true;
    target_.reset();
  }
  void on_train_end(const Logs&) override { in_fit_ = false; }

  void on_epoch_begin(int64_t epoch, const Logs&) override {
    start();
    if (params().verbose != 0 && params().epochs > 1) {
      output_.write(fmt::format("Epoch {}/{}\n", epoch + 1, params().epochs));
    }
  }
  void on_train_batch_end(int64_t batch, const Logs& logs) override { update(batch, logs); }
  void on_epoch_end(int64_t, const Logs& logs) override { finish(logs); }

  // Within fit, validation is silent.
  void on_test_begin(const Logs&) override {
    if (in_fit_) return;
    target_.reset();
    start();
  }
  void on_test_batch_end(int64_t batch, const Logs& logs) override {
    if (!in_fit_) update(batch, logs);
  }
  void on_test_end(const Logs& logs) override {
    if (!in_fit_) finish(logs);
  }

  void on_predict_begin(const Logs&) override {
    target_.reset();
    start();
  }
  void on_predict_batch_end(int64_t batch, const Logs&) override { update(batch, {}); }
  void on_predict_end(const Logs&) override { finish({}); }

 private:
  void start() {
    if (!target_) target_ = params().first_steps;
    seen_ = 0;
    progbar_.emplace(ProgbarOptions{.target = target_,
                                    .verbose = params().verbose,
                                    .stateless_metrics = std::vector<std::string>()},
                     output_);
  }

  void update(int64_t batch, const Logs& logs) {
    seen_ = target_ ? std::min(batch + 1, *target_) : batch + 1;
    if (params().verbose == 1) progbar_->update(seen_, logs, false);
  }

  void finish(const Logs& logs) {
    if (!target_) {
      target_ = params().steps.value_or(seen_);
      progbar_->set_target(*target_);
    }
    progbar_->update(*target_, logs, true);
  }

  ProgbarOutput output_;
  std::optional<Progbar> progbar_;
  std::optional<int64_t> target_;  // batches per epoch, once known
  int64_t seen_ = 0;
  bool in_fit_ = false;
};

}  // namespace

ProgbarLogger::ProgbarLogger(const ProgbarOutput& output)
    : CallbackHandle(std::make_shared<ProgbarLoggerImpl>(output)) {}

bool is_progbar_logger(const CallbackHandle& callback) {
  return dynamic_cast<const ProgbarLoggerImpl*>(&callback.get()) != nullptr;
}

}  // namespace cornu::callbacks
