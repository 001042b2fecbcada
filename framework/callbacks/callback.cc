// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/callback.h"

#include <algorithm>
#include <iterator>

#include "framework/callbacks/progbar_logger.h"
#include "framework/core/demangle.h"
#include "framework/core/logging.h"

namespace cornu {
namespace {

template <class... Parameters, class... Args>
void call_all(const std::vector<CallbackHandle>& callbacks, void (Callback::*method)(Parameters...),
              const Args&... args) {
  for (const CallbackHandle& callback : callbacks) (callback.get().*method)(args...);
}

// The metrics of training and validation together, as Keras orders them.
Logs sorted_by_name(const Logs& logs) {
  std::vector<Logs::Entry> entries(logs.begin(), logs.end());
  std::ranges::sort(entries, {}, &Logs::Entry::first);
  Logs sorted;
  for (auto& [name, value] : entries) sorted.set(name, value);
  return sorted;
}

}  // namespace

std::string Callback::class_name() const { return demangled(typeid(*this)); }

CallbackList::CallbackList(std::vector<CallbackHandle> callbacks,
                           std::shared_ptr<TrainedModel> model, const CallbackParams& params)
    : callbacks_(std::move(callbacks)), model_(std::move(model)), params_(params) {
  params_.first_steps = params_.steps;
  const bool has_progbar =
      std::any_of(callbacks_.begin(), callbacks_.end(), callbacks::is_progbar_logger);
  // Must be last, as it shows what the others add to the logs.
  if (params.verbose != 0 && !has_progbar) callbacks_.push_back(callbacks::ProgbarLogger());
  for (const CallbackHandle& callback : callbacks_) {
    callback->attach(model_, params_);
    if (callback->wants_batches()) batch_callbacks_.push_back(callback);
  }
}

CallbackList::~CallbackList() {
  for (const CallbackHandle& callback : callbacks_) {
    try {
      callback->leave_run();
    } catch (const std::exception& error) {
      logging::warn(fmt::format("A callback's leave_run() failed: {}", error.what()));
    }
  }
}

void CallbackList::set_steps(int64_t steps) {
  restore_steps(steps, params_.first_steps ? params_.first_steps : steps);
}

void CallbackList::restore_steps(std::optional<int64_t> steps, std::optional<int64_t> first_steps) {
  params_.steps = steps;
  params_.first_steps = first_steps;
  for (const CallbackHandle& callback : callbacks_) callback->attach(model_, params_);
}

// Those that keep the run's state, or all others.
std::vector<CallbackHandle> CallbackList::that_keep_state(bool keep) const {
  std::vector<CallbackHandle> found;
  std::ranges::copy_if(callbacks_, std::back_inserter(found), [&](const CallbackHandle& callback) {
    return callback->keeps_run_state() == keep;
  });
  return found;
}

void CallbackList::on_train_begin() {
  for (const bool keepers : {true, false}) {
    call_all(that_keep_state(keepers), &Callback::on_train_begin, Logs());
  }
}
void CallbackList::on_train_end(bool keepers, const Logs& logs) {
  call_all(that_keep_state(keepers), &Callback::on_train_end, logs);
}
void CallbackList::on_epoch_begin(int64_t epoch, const Logs& logs) {
  call_all(callbacks_, &Callback::on_epoch_begin, epoch, logs);
}

Logs CallbackList::on_epoch_end(int64_t epoch, Logs logs) {
  logs = sorted_by_name(logs);
  for (const CallbackHandle& callback : callbacks_) {
    for (const auto& [name, value] : callback->epoch_logs()) logs[name] = value;
    callback->on_epoch_end(epoch, logs);
  }
  return logs;
}

void CallbackList::on_train_batch_begin(int64_t batch) {
  call_all(batch_callbacks_, &Callback::on_train_batch_begin, batch, Logs());
}
void CallbackList::on_train_batch_end(int64_t batch, const Logs& logs) {
  call_all(batch_callbacks_, &Callback::on_train_batch_end, batch, logs);
}
void CallbackList::on_test_begin() { call_all(callbacks_, &Callback::on_test_begin, Logs()); }
void CallbackList::on_test_end(const Logs& logs) {
  call_all(callbacks_, &Callback::on_test_end, logs);
}
void CallbackList::on_test_batch_begin(int64_t batch) {
  call_all(batch_callbacks_, &Callback::on_test_batch_begin, batch, Logs());
}
void CallbackList::on_test_batch_end(int64_t batch, const Logs& logs) {
  call_all(batch_callbacks_, &Callback::on_test_batch_end, batch, logs);
}
void CallbackList::on_predict_begin() { call_all(callbacks_, &Callback::on_predict_begin, Logs()); }
void CallbackList::on_predict_end() { call_all(callbacks_, &Callback::on_predict_end, Logs()); }
void CallbackList::on_predict_batch_begin(int64_t batch) {
  call_all(batch_callbacks_, &Callback::on_predict_batch_begin, batch, Logs());
}
void CallbackList::on_predict_batch_end(int64_t batch) {
  call_all(batch_callbacks_, &Callback::on_predict_batch_end, batch, Logs());
}

}  // namespace cornu
