// SPDX-License-Identifier: Apache-2.0
// The interface of callbacks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "framework/callbacks/logs.h"
#include "framework/callbacks/trained_model.h"
#include "framework/core/error.h"
#include "framework/core/handle.h"
#include "framework/saving/run_state.h"

namespace cornu {

class Model;

// What fit was called with, for callbacks.
struct CallbackParams {
  int verbose = 1;  // 0, 1 or 2
  int64_t epochs = 1;
  std::optional<int64_t> steps = {};  // batches an epoch; unknown on a first pass over some sources
  // What was the first to be known of them: a bar goes on counting up to that.
  std::optional<int64_t> first_steps = {};
};

// Something that happens beside training. Subclass it and override what you need; make handles with
// make_callback<T>(…). All methods are called on the thread that called fit. `logs` of a batch are
// running averages over the epoch. An exception leaves fit.
class Callback {
 public:
  virtual ~Callback() = default;
  virtual void on_train_begin(const Logs& logs) { (void)logs; }
  virtual void on_train_end(const Logs& logs) { (void)logs; }
  virtual void on_epoch_begin(int64_t epoch, const Logs& logs) { (void)epoch, (void)logs; }
  virtual void on_epoch_end(int64_t epoch, const Logs& logs) { (void)epoch, (void)logs; }
  virtual void on_train_batch_begin(int64_t batch, const Logs& logs) { (void)batch, (void)logs; }
  virtual void on_train_batch_end(int64_t batch, const Logs& logs) { (void)batch, (void)logs; }
  virtual void on_test_begin(const Logs& logs) { (void)logs; }
  virtual void on_test_end(const Logs& logs) { (void)logs; }
  virtual void on_test_batch_begin(int64_t batch, const Logs& logs) { (void)batch, (void)logs; }
  virtual void on_test_batch_end(int64_t batch, const Logs& logs) { (void)batch, (void)logs; }
  virtual void on_predict_begin(const Logs& logs) { (void)logs; }
  virtual void on_predict_end(const Logs& logs) { (void)logs; }
  virtual void on_predict_batch_begin(int64_t batch, const Logs& logs) { (void)batch, (void)logs; }
  virtual void on_predict_batch_end(int64_t batch, const Logs& logs) { (void)batch, (void)logs; }

  // Whether the batch methods are called: by default where one of them is overridden. When no
  // callback wants them, fit reads no metrics during an epoch.
  virtual bool wants_batches() const { return overrides_batches_; }
  // Metrics to add to the logs of an epoch that ends ("learning_rate"); asked for just before
  // on_epoch_end. This callback, those after it and the history see them.
  virtual Logs epoch_logs() const { return {}; }

  // ---- runs that resume ----
  // By which a resumed run knows whose state is whose. By default the name of the C++ class, with
  // its namespaces.
  virtual std::string class_name() const;
  // By which it knows the state of one of several callbacks of a class, as the file that it writes.
  // By default they have no names, and go by their order.
  virtual std::string state_name() const { return ""; }
  // What this callback must know to resume where it was, and back, after on_train_begin. By default
  // it has nothing to know.
  virtual RunState save_state() const { return {}; }
  virtual void restore_state(const RunState& state) { (void)state; }
  // A state of the whole run to resume from, asked for after on_train_begin; that of the first
  // callback that has one is used.
  virtual std::optional<RunState> resume_run() { return std::nullopt; }
  // Whether it keeps states: while one does, SIGTERM and SIGINT are handled between two steps, and
  // it is given the state then, wanted or not (see Interrupted). Its on_train_end comes last.
  virtual bool keeps_run_state() const { return false; }
  // Whether it wants the run's state now, after a batch (its number in the epoch) or an epoch
  // (none), when all callbacks have been called; and that state.
  virtual bool wants_run_state(std::optional<int64_t> batch) { return (void)batch, false; }
  virtual void keep_run_state(const RunState& state) { (void)state; }
  // Why a state that it was given isn't kept, said once, for the other workers of a job; empty
  // where all are.
  virtual std::string unkept_state() { return ""; }
  // Whether a state that it was given since resume_run() is kept by now. Until one is, workers of a
  // job remember how the run began.
  virtual bool has_kept_state() { return false; }
  // In place of a run that the other workers of a job have been through, and that ended well.
  virtual void skip_run() {}
  // fit (or evaluate, or predict) ends, also by an error. What it throws is a warning.
  virtual void leave_run() {}

  // The model in training, from before on_train_begin on; FailedPrecondition earlier.
  Model& model() const { return trained().model(); }
  // The same, as the library's callbacks see it.
  TrainedModel& trained() const {
    check<FailedPrecondition>(model_ != nullptr,
                              "Callback: it has no model yet. Give it to fit, evaluate or predict "
                              "first; its methods are called with one.");
    return *model_;
  }
  const CallbackParams& params() const { return params_; }
  void attach(std::shared_ptr<TrainedModel> model, const CallbackParams& params) {
    model_ = std::move(model);
    params_ = params;
  }

 private:
  friend class CallbackHandle;

  std::shared_ptr<TrainedModel> model_;
  CallbackParams params_;
  bool overrides_batches_ = true;
};

namespace internal {

// Whether T inherits all batch methods from Callback: a pointer to an inherited member has the type
// of the class that declares it. A name that can't be taken (overloaded, private) counts as
// overridden.
template <class T>
constexpr bool inherits_batch_methods() {
  using Method = void (Callback::*)(int64_t, const Logs&);
  if constexpr (requires {
                  &T::on_train_batch_begin, &T::on_train_batch_end, &T::on_test_batch_begin,
                      &T::on_test_batch_end, &T::on_predict_batch_begin, &T::on_predict_batch_end;
                }) {
    return std::is_same_v<decltype(&T::on_train_batch_begin), Method> &&
           std::is_same_v<decltype(&T::on_train_batch_end), Method> &&
           std::is_same_v<decltype(&T::on_test_batch_begin), Method> &&
           std::is_same_v<decltype(&T::on_test_batch_end), Method> &&
           std::is_same_v<decltype(&T::on_predict_batch_begin), Method> &&
           std::is_same_v<decltype(&T::on_predict_batch_end), Method>;
  }
  return false;
}

// Methods of T that have the name of one of Callback's, but hide it in place of overriding it,
// would never be called.
template <class T>
constexpr void require_callback_hooks() {
  using Plain = void (T::*)(const Logs&);
  using Numbered = void (T::*)(int64_t, const Logs&);
  if constexpr (requires { &T::on_train_begin; }) {
    static_assert(std::is_convertible_v<decltype(&T::on_train_begin), Plain>,
                  "on_train_begin isn't the one of Callback: write `override`");
  }
  if constexpr (requires { &T::on_train_end; }) {
    static_assert(std::is_convertible_v<decltype(&T::on_train_end), Plain>,
                  "on_train_end isn't the one of Callback: write `override`");
  }
  if constexpr (requires { &T::on_epoch_begin; }) {
    static_assert(std::is_convertible_v<decltype(&T::on_epoch_begin), Numbered>,
                  "on_epoch_begin isn't the one of Callback: write `override`");
  }
  if constexpr (requires { &T::on_epoch_end; }) {
    static_assert(std::is_convertible_v<decltype(&T::on_epoch_end), Numbered>,
                  "on_epoch_end isn't the one of Callback: write `override`");
  }
  if constexpr (requires { &T::on_train_batch_begin; }) {
    static_assert(std::is_convertible_v<decltype(&T::on_train_batch_begin), Numbered>,
                  "on_train_batch_begin isn't the one of Callback: write `override`");
  }
  if constexpr (requires { &T::on_train_batch_end; }) {
    static_assert(std::is_convertible_v<decltype(&T::on_train_batch_end), Numbered>,
                  "on_train_batch_end isn't the one of Callback: write `override`");
  }
  if constexpr (requires { &T::on_test_begin; }) {
    static_assert(std::is_convertible_v<decltype(&T::on_test_begin), Plain>,
                  "on_test_begin isn't the one of Callback: write `override`");
  }
  if constexpr (requires { &T::on_test_end; }) {
    static_assert(std::is_convertible_v<decltype(&T::on_test_end), Plain>,
                  "on_test_end isn't the one of Callback: write `override`");
  }
  if constexpr (requires { &T::on_test_batch_begin; }) {
    static_assert(std::is_convertible_v<decltype(&T::on_test_batch_begin), Numbered>,
                  "on_test_batch_begin isn't the one of Callback: write `override`");
  }
  if constexpr (requires { &T::on_test_batch_end; }) {
    static_assert(std::is_convertible_v<decltype(&T::on_test_batch_end), Numbered>,
                  "on_test_batch_end isn't the one of Callback: write `override`");
  }
  if constexpr (requires { &T::on_predict_begin; }) {
    static_assert(std::is_convertible_v<decltype(&T::on_predict_begin), Plain>,
                  "on_predict_begin isn't the one of Callback: write `override`");
  }
  if constexpr (requires { &T::on_predict_end; }) {
    static_assert(std::is_convertible_v<decltype(&T::on_predict_end), Plain>,
                  "on_predict_end isn't the one of Callback: write `override`");
  }
  if constexpr (requires { &T::on_predict_batch_begin; }) {
    static_assert(std::is_convertible_v<decltype(&T::on_predict_batch_begin), Numbered>,
                  "on_predict_batch_begin isn't the one of Callback: write `override`");
  }
  if constexpr (requires { &T::on_predict_batch_end; }) {
    static_assert(std::is_convertible_v<decltype(&T::on_predict_batch_end), Numbered>,
                  "on_predict_batch_end isn't the one of Callback: write `override`");
  }
}

}  // namespace internal

// A cheap handle on a callback; the classes of callbacks.h convert to it.
class CallbackHandle : public Handle<Callback> {
 public:
  template <class T>
  requires std::is_base_of_v<Callback, T> CallbackHandle(std::shared_ptr<T> callback)  // NOLINT
      : Handle(std::move(callback)) {
    internal::require_callback_hooks<T>();
    check<InvalidArgument>(impl_ != nullptr, "CallbackHandle: expected a callback, got none.");
    Callback& made = *impl_;
    // What a class derived from T overrides isn't known here.
    if (typeid(made) == typeid(T)) {
      made.overrides_batches_ = !internal::inherits_batch_methods<T>();
    }
  }
  Callback& get() const { return *impl_; }
  Callback* operator->() const { return impl_.get(); }
};

// A handle that knows the class of its callback.
template <class T>
using CallbackRef = TypedHandle<CallbackHandle, T>;

// Makes a callback of a user's class.
template <class T, class... Args>
CallbackRef<T> make_callback(Args&&... args) {
  return CallbackRef<T>(std::make_shared<T>(std::forward<Args>(args)...));
}

// Calls several callbacks in order.
class CallbackList {
 public:
  CallbackList(std::vector<CallbackHandle> callbacks, std::shared_ptr<TrainedModel> model,
               const CallbackParams& params);
  ~CallbackList();  // callbacks leave the run
  CallbackList(const CallbackList&) = delete;
  CallbackList& operator=(const CallbackList&) = delete;

  void on_train_begin(const Logs& logs = {});
  void on_train_end(const Logs& logs = {});
  void on_epoch_begin(int64_t epoch, const Logs& logs = {});
  // Returns the logs with what callbacks added to them.
  Logs on_epoch_end(int64_t epoch, Logs logs);
  void on_train_batch_begin(int64_t batch);
  void on_train_batch_end(int64_t batch, const Logs& logs);
  void on_test_begin();
  void on_test_end(const Logs& logs);
  void on_test_batch_begin(int64_t batch);
  void on_test_batch_end(int64_t batch, const Logs& logs);
  void on_predict_begin();
  void on_predict_end();
  void on_predict_batch_begin(int64_t batch);
  void on_predict_batch_end(int64_t batch);

  bool wants_batches() const { return !batch_callbacks_.empty(); }
  const std::vector<CallbackHandle>& callbacks() const { return callbacks_; }
  // Tells callbacks how many batches an epoch has, once that is known.
  void set_steps(int64_t steps);
  // Of a run that is gone on with.
  void restore_steps(std::optional<int64_t> steps, std::optional<int64_t> first_steps);
  const CallbackParams& params() const { return params_; }

 private:
  std::vector<CallbackHandle> callbacks_;
  std::vector<CallbackHandle> batch_callbacks_;
  std::shared_ptr<TrainedModel> model_;
  CallbackParams params_;
};

}  // namespace cornu
