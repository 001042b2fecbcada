// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/lambda_callback.h"

namespace cornu::callbacks {
namespace {

template <class F, class... Args>
void call(const F& function, const Args&... args) {
  if (function) function(args...);
}

class LambdaCallbackImpl : public Callback {
 public:
  explicit LambdaCallbackImpl(const LambdaCallbackOptions& functions) : f_(functions) {}
  std::string class_name() const override { return "LambdaCallback"; }

  bool wants_batches() const override {
    return f_.on_train_batch_begin || f_.on_train_batch_end || f_.on_test_batch_begin ||
           f_.on_test_batch_end || f_.on_predict_batch_begin || f_.on_predict_batch_end;
  }

  void on_epoch_begin(int64_t epoch, const Logs& logs) override {
    call(f_.on_epoch_begin, epoch, logs);
  }
  void on_epoch_end(int64_t epoch, const Logs& logs) override {
    call(f_.on_epoch_end, epoch, logs);
  }
  void on_train_begin(const Logs& logs) override { call(f_.on_train_begin, logs); }
  void on_train_end(const Logs& logs) override { call(f_.on_train_end, logs); }
  void on_train_batch_begin(int64_t batch, const Logs& logs) override {
    call(f_.on_train_batch_begin, batch, logs);
  }
  void on_train_batch_end(int64_t batch, const Logs& logs) override {
    call(f_.on_train_batch_end, batch, logs);
  }
  void on_test_begin(const Logs& logs) override { call(f_.on_test_begin, logs); }
  void on_test_end(const Logs& logs) override { call(f_.on_test_end, logs); }
  void on_test_batch_begin(int64_t batch, const Logs& logs) override {
    call(f_.on_test_batch_begin, batch, logs);
  }
  void on_test_batch_end(int64_t batch, const Logs& logs) override {
    call(f_.on_test_batch_end, batch, logs);
  }
  void on_predict_begin(const Logs& logs) override { call(f_.on_predict_begin, logs); }
  void on_predict_end(const Logs& logs) override { call(f_.on_predict_end, logs); }
  void on_predict_batch_begin(int64_t batch, const Logs& logs) override {
    call(f_.on_predict_batch_begin, batch, logs);
  }
  void on_predict_batch_end(int64_t batch, const Logs& logs) override {
    call(f_.on_predict_batch_end, batch, logs);
  }

 private:
  LambdaCallbackOptions f_;
};

}  // namespace

LambdaCallback::LambdaCallback(const LambdaCallbackOptions& options)
    : CallbackHandle(std::make_shared<LambdaCallbackImpl>(options)) {}

}  // namespace cornu::callbacks
