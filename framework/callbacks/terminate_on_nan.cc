// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/terminate_on_nan.h"

#include <cmath>

#include "framework/core/logging.h"

namespace cornu::callbacks {
namespace {

class TerminateOnNanImpl : public Callback {
 public:
  explicit TerminateOnNanImpl(const TerminateOnNaNOptions& options) : options_(options) {}
  std::string class_name() const override { return "TerminateOnNaN"; }

  void on_epoch_begin(int64_t epoch, const Logs&) override { epoch_ = epoch; }

  void on_train_batch_end(int64_t batch, const Logs& logs) override {
    const double* loss = logs.find("loss");
    if (!loss || std::isfinite(*loss)) return;
    check<OutOfRange>(
        !options_.raise_error,
        "TerminateOnNaN: the loss became {} in batch {} of epoch {}. Lower the "
        "learning rate, clip gradients (clipnorm), or look for bad values in the data.",
        std::isnan(*loss) ? "nan" : "infinite", batch + 1, epoch_ + 1);
    logging::warn(fmt::format("Epoch {}, batch {}: Invalid loss, terminating training", epoch_ + 1,
                              batch + 1));
    trained().stop_training();
  }

 private:
  TerminateOnNaNOptions options_;
  int64_t epoch_ = 0;
};

}  // namespace

TerminateOnNaN::TerminateOnNaN(const TerminateOnNaNOptions& options)
    : CallbackHandle(std::make_shared<TerminateOnNanImpl>(options)) {}

}  // namespace cornu::callbacks
