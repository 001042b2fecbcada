// SPDX-License-Identifier: Apache-2.0
#include "cornu/train/callbacks/terminate_on_nan.h"

#include <cmath>

#include "cornu/core/logging.h"
#include "cornu/train/model.h"

namespace cornu::callbacks {
namespace {

class Impl : public Callback {
 public:
  explicit Impl(const TerminateOnNaNOptions& options) : options_(options) {}

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
    model().stop_training = true;
  }

 private:
  TerminateOnNaNOptions options_;
  int64_t epoch_ = 0;
};

}  // namespace

TerminateOnNaN::TerminateOnNaN(const TerminateOnNaNOptions& options)
    : CallbackHandle(std::make_shared<Impl>(options)) {}

}  // namespace cornu::callbacks
