// SPDX-License-Identifier: Apache-2.0
#include "framework/train/joint_call.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "framework/core/error.h"
#include "framework/core/logging.h"
#include "framework/saving/run_state.h"
#include "framework/saving/saved_variables.h"
#include "framework/strategy/strategy.h"
#include "framework/train/model.h"
#include "framework/train/trainer.h"
#include "framework/train/worker_parts.h"

namespace cornu {

Json history_to_json(const History& history) {
  Json figures = Json::object();
  for (const auto& [name, values] : history) {
    figures.set(name, Json(Json::Array(values.begin(), values.end())));
  }
  return Json::object({{"epoch", Json(history.epoch)}, {"figures", figures}});
}

History history_from_json(const Json& json) {
  History history;
  history.epoch = json.at("epoch").as_ints();
  for (const auto& [name, values] : json.at("figures").as_object()) {
    std::vector<double> numbers;
    for (const Json& value : values.as_array()) numbers.push_back(value.as_double());
    history.set(name, std::move(numbers));
  }
  return history;
}

Json logs_to_json(const Logs& logs) {
  Json json = Json::object();
  for (const auto& [name, value] : logs) json.set(name, value);
  return json;
}

Logs logs_from_json(const Json& json) {
  Logs logs;
  for (const auto& [name, value] : json.as_object()) logs[name] = value.as_double();
  return logs;
}

namespace {

thread_local int64_t open_calls = 0;  // one within the other

// The calls of this process.
struct Calls {
  struct Finished {
    Json figures;
    bool trains = false;
    std::weak_ptr<const TrainedVariables> trained;
  };

  std::mutex mutex;
  int64_t begun = 0;
  std::map<int64_t, Finished> finished;  // by number
};

Calls& calls() {
  static auto* const all = new Calls;
  return *all;
}

std::string group_of(int64_t number, const char* part) {
  return fmt::format("call {} {}", number, part);
}

// What these calls have given, for workers that have begun anew.
std::string finished_calls(const std::set<int64_t>& numbers) {
  RunState state;
  const std::lock_guard lock(calls().mutex);
  for (const int64_t number : numbers) {
    const auto call = calls().finished.find(number);
    if (call == calls().finished.end()) continue;  // it ended with an error that was caught
    const auto trained = call->second.trained.lock();
    state.info.set(std::to_string(number), Json::object({{"figures", call->second.figures},
                                                         {"has variables", trained != nullptr},
                                                         {"trains", call->second.trains}}));
    if (!trained) continue;
    save_variables(state, group_of(number, "model"), trained->model);
    save_variables(state, group_of(number, "optimizer"), trained->optimizer);
  }
  return encode_run_state(state);
}

}  // namespace

JointCall::JointCall(const char* what, const Model& model)
    : what_(what), model_(model), is_within_another_(open_calls++ > 0) {
  if (is_within_another_ || get_strategy().impl().num_workers() == 1) return;
  {
    const std::lock_guard lock(calls().mutex);
    number_ = ++calls().begun;
  }
  try {
    is_joined_ = join();
  } catch (...) {
    --open_calls;
    throw;
  }
}

JointCall::~JointCall() { --open_calls; }

bool JointCall::join() {
  if (number_ == 0) return true;
  if (meet()) {
    agree_on_seeds();
    return true;
  }
  logging::warn(fmt::format(
      "{}: the other workers have been through call {} of fit and evaluate already. This worker, "
      "which has begun anew, takes what that call has given, and goes on with the next one.",
      what_, number_));
  return false;
}

// Whether all are in the same call; false where others are in a later one.
bool JointCall::meet() {
  StrategyImpl& strategy = get_strategy().impl();
  while (true) {
    std::vector<int64_t> numbers;
    for (const std::string& text : strategy.exchange("numbers of calls", std::to_string(number_))) {
      numbers.push_back(std::stoll(text));
    }
    const auto [least, most] = std::ranges::minmax(numbers);
    if (least == most) return true;
    const auto source = std::ranges::find(numbers, most) - numbers.begin();
    std::set<int64_t> behind(numbers.begin(), numbers.end());
    behind.erase(most);
    const std::vector<std::string> all = strategy.exchange(
        "finished calls", source == strategy.worker() ? finished_calls(behind) : "");
    if (number_ == most) continue;
    take(all[static_cast<size_t>(source)]);
    return false;
  }
}

void JointCall::take(const std::string& finished) {
  const RunState state = decode_run_state(finished);
  const std::string number = std::to_string(number_);
  const Json* call = state.info.find(number);
  check<FailedPrecondition>(call != nullptr,
                            "{}: call {} of the others has ended with an error. Start all workers "
                            "again.",
                            what_, number);
  if (call->at("trains").as_bool()) {
    check<FailedPrecondition>(
        call->at("has variables").as_bool(),
        "{}: the model of call {} is gone on the other workers, so that this "
        "one, which has begun anew, can't have its weights. Start all workers "
        "again, or keep models until the program's end.",
        what_, number);
    const Optimizer& optimizer = model_.optimizer();
    if (model_.built()) optimizer.build(model_.trainable_variables());
    for (const auto& [part, variables] :
         {std::pair("model", model_.variables()), std::pair("optimizer", optimizer.variables())}) {
      const std::string group = group_of(number_, part);
      const std::string difference = difference_of_variables(state, group, variables);
      check<FailedPrecondition>(difference.empty(),
                                "{}: what call {} has trained on the other workers can't be taken "
                                "up here: {} {}. Give the model its input's shape (Input, or "
                                "build), or start all workers again.",
                                what_, number, part, difference);
      restore_variables(state, group, variables);
    }
  }
  figures_ = call->at("figures");
  finish(figures_, call->at("trains").as_bool() ? model_.trainer().trained_variables(model_)
                                                : std::weak_ptr<const TrainedVariables>());
}

void JointCall::finish(Json figures, std::weak_ptr<const TrainedVariables> trained) {
  if (number_ == 0) return;
  const bool trains = !trained.expired();
  const std::lock_guard lock(calls().mutex);
  calls().finished[number_] = {
      .figures = std::move(figures), .trains = trains, .trained = std::move(trained)};
}

}  // namespace cornu
