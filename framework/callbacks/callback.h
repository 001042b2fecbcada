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

// The arguments of fit, for callbacks.
struct CallbackParams {
  int verbose = 1;  // 0, 1 or 2
  int64_t epochs = 1;
  std::optional<int64_t> steps = {};  // batches per epoch; unknown in the first pass over some
                                      // sources
  // The first value that became known for `steps`; progress bars keep counting up to it.
  std::optional<int64_t> first_steps = {};
};

// An object whose methods are called during training. Derive from it, override the methods you
// need, and create handles with make_callback<T>(…). All methods are called on the thread that
// called fit. The `logs` of a batch are running averages over the epoch. Exceptions propagate out
// of fit.
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

  // Whether the batch methods are called: by default if one of them is overridden. If no callback
  // wants them, fit reads no metrics during an epoch.
  virtual bool wants_batches() const { return overrides_batches_; }
  // Metrics to add to the logs at the end of an epoch ("learning_rate"). Called just before
  // on_epoch_end; visible to this callback, later callbacks and the history.
  virtual Logs epoch_logs() const { return {}; }

  // ---- resuming runs ----
  //
  // Identifies the callback's class in a saved state. Defaults to the qualified name of the C++
  // class.
  virtual std::string class_name() const;
  // Distinguishes several callbacks of the same class in a saved state, e.g. by the file they
  // write. By default they have no names and are matched by their order.
  virtual std::string state_name() const { return ""; }
  // Return and restore the state this callback needs to resume; restore_state is called after
  // on_train_begin. By default there is none.
  virtual RunState save_state() const { return {}; }
  virtual void restore_state(const RunState& state) { (void)state; }
  // The state of a whole run to resume from. Called after on_train_begin; the first state returned
  // by a callback is used.
  virtual std::optional<RunState> resume_run() { return std::nullopt; }
  // Whether this callback saves run states. If any callback does, SIGTERM and SIGINT are handled
  // between two steps, and the callback then receives the state even if it doesn't want it (see
  // Interrupted). Its on_train_begin is called first, its on_train_end last.
  virtual bool keeps_run_state() const { return false; }
  // Whether it wants the run's state now, after a batch (its index in the epoch) or an epoch
  // (nullopt). Called after all callbacks' methods; keep_run_state then receives the state.
  virtual bool wants_run_state(std::optional<int64_t> batch) { return (void)batch, false; }
  virtual void keep_run_state(const RunState& state) { (void)state; }
  // The reason why a state passed to keep_run_state wasn't saved, returned once, for the other
  // workers of a job; empty if all states were saved.
  virtual std::string unkept_state() { return ""; }
  // Whether a state passed to keep_run_state since resume_run() has been saved. Until one has,
  // workers of a job remember the initial state of the run.
  virtual bool has_kept_state() { return false; }
  // Called instead of a run that the other workers of a job have successfully completed.
  virtual void skip_run() {}
  // Called when fit (or evaluate, or predict) ends, even with an error. Exceptions are logged as
  // warnings.
  virtual void leave_run() {}

  // The model in training, available before on_train_begin; throws FailedPrecondition earlier.
  Model& model() const { return trained().model(); }
  // The model's interface for the library's callbacks.
  TrainedModel& trained() const {
    check<FailedPrecondition>(model_ != nullptr,
                              "Callback: it isn't bound to a model yet. Pass it to fit, evaluate "
                              "or predict first; its methods are called with one.");
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
// of the class that declares it. A name whose address can't be taken (overloaded, private) counts
// as overridden.
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

// Detects methods of T that hide one of Callback's instead of overriding it, and would never be
// called.
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

// A cheap handle to a callback; the classes of callbacks.h convert to it.
class CallbackHandle : public Handle<Callback> {
 public:
  template <class T>
  requires std::is_base_of_v<Callback, T> CallbackHandle(std::shared_ptr<T> callback)  // NOLINT
      : Handle(std::move(callback)) {
    internal::require_callback_hooks<T>();
    check<InvalidArgument>(impl_ != nullptr, "CallbackHandle: expected a callback, got none.");
    Callback& made = *impl_;
    // Classes derived from T may override more.
    if (typeid(made) == typeid(T)) {
      made.overrides_batches_ = !internal::inherits_batch_methods<T>();
    }
  }
  Callback& get() const { return required("CallbackHandle", "a callback"); }
  Callback* operator->() const { return &get(); }
};

// A handle that knows its callback's class.
template <class T>
using CallbackRef = TypedHandle<CallbackHandle, T>;

// Creates a callback of a user-defined class.
template <class T, class... Args>
CallbackRef<T> make_callback(Args&&... args) {
  return CallbackRef<T>(std::make_shared<T>(std::forward<Args>(args)...));
}

// Calls several callbacks, in order unless stated otherwise.
class CallbackList {
 public:
  CallbackList(std::vector<CallbackHandle> callbacks, std::shared_ptr<TrainedModel> model,
               const CallbackParams& params);
  ~CallbackList();  // calls leave_run()
  CallbackList(const CallbackList&) = delete;
  CallbackList& operator=(const CallbackList&) = delete;

  // Callbacks that keep the run's state are told first that training begins, and last that it ends:
  // on_train_end tells those alone (`keepers`), or all others.
  void on_train_begin();
  void on_train_end(bool keepers, const Logs& logs = {});
  void on_epoch_begin(int64_t epoch, const Logs& logs = {});
  // Returns the logs, including those that callbacks add.
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
  // Notifies callbacks of the number of batches per epoch, once it is known.
  void set_steps(int64_t steps);
  // Restores the numbers of batches of a resumed run.
  void restore_steps(std::optional<int64_t> steps, std::optional<int64_t> first_steps);
  const CallbackParams& params() const { return params_; }

 private:
  std::vector<CallbackHandle> that_keep_state(bool keep) const;

  std::vector<CallbackHandle> callbacks_;
  std::vector<CallbackHandle> batch_callbacks_;
  std::shared_ptr<TrainedModel> model_;
  CallbackParams params_;
};

}  // namespace cornu
