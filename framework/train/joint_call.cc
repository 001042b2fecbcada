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
#include "framework/core/random.h"
#include "framework/saving/run_state.h"
#include "framework/saving/saved_variables.h"
#include "framework/strategy/job_end.h"
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
    SeedSequence seeds = {};  // at its end
  };

  std::mutex mutex;
  int64_t begun = 0;
  bool is_open = false;
  bool keeps_state = false;              // one of them
  std::map<int64_t, Finished> finished;  // by number
};

Calls& calls() {
  static auto* const all = new Calls;
  return *all;
}

std::string group_of(int64_t number, const char* part) {
  return fmt::format("call {} {}", number, part);
}

// A step that failed half-way has taken those of the model that is in training: the state that all
// go back to has them.
bool have_values(const TrainedVariables& trained) {
  try {
    for (const auto* variables : {&trained.model, &trained.optimizer}) {
      for (const Variable& variable : *variables) static_cast<void>(variable.value());
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool are_same(const std::vector<Variable>& a, const std::vector<Variable>& b) {
  return std::ranges::equal(a, b, {}, &Variable::number, &Variable::number);
}

// What these calls have given, for workers that have begun anew.
std::string finished_calls(const std::set<int64_t>& numbers) {
  RunState state;
  const std::lock_guard lock(calls().mutex);
  for (const int64_t number : numbers) {
    const auto call = calls().finished.find(number);
    if (call == calls().finished.end()) continue;  // it ended with an error that was caught
    const auto trained = call->second.trained.lock();
    const bool has_values = trained && have_values(*trained);
    const SeedSequence& seeds = call->second.seeds;
    state.info.set(std::to_string(number),
                   Json::object({{"figures", call->second.figures},
                                 {"has variables", has_values},
                                 {"trains", call->second.trains},
                                 {"seed", static_cast<int64_t>(seeds.seed)},
                                 {"drawn", static_cast<int64_t>(seeds.drawn)},
                                 {"chosen", seeds.chosen}}));
    if (!has_values) continue;
    save_variables(state, group_of(number, "model"), trained->model);
    save_variables(state, group_of(number, "optimizer"), trained->optimizer);
  }
  return encode_run_state(state);
}

}  // namespace

bool TrainedVariables::operator==(const TrainedVariables& other) const {
  return are_same(model, other.model) && are_same(optimizer, other.optimizer);
}

JointCall::JointCall(const char* what, const Model& model, bool keeps_state)
    : what_(what), model_(model), is_within_another_(open_calls > 0) {
  if (!is_within_another_ && get_strategy().impl().num_workers() > 1) {
    const std::lock_guard lock(calls().mutex);
    check<FailedPrecondition>(
        !calls().is_open,
        "{}: another thread of this worker is in a call of fit or evaluate. Several workers must "
        "make these calls in one order: let one thread make them all, one after the other.",
        what);
    calls().is_open = true;
    JobEnd::get().set_in_call(true);
    calls().keeps_state = calls().keeps_state || keeps_state;
    number_ = ++calls().begun;
  }
  ++open_calls;
}

JointCall::~JointCall() {
  --open_calls;
  if (number_ == 0) return;
  const std::lock_guard lock(calls().mutex);
  calls().is_open = false;
  JobEnd::get().set_in_call(false);
}

bool JointCall::begin(const std::string& error) {
  error_ = error;
  try {
    return join();
  } catch (const PeerLost& lost) {
    return rejoin(lost);
  }
}

bool JointCall::rejoin(PeerLost lost) {
  StrategyImpl& strategy = get_strategy().impl();
  const auto may_come_back = [&] {
    const std::lock_guard lock(calls().mutex);
    return calls().keeps_state || strategy.restarts_workers();
  };
  if (number_ == 0 || !may_come_back()) throw lost;
  while (true) {
    strategy.rejoin(lost);
    try {
      return join();
    } catch (const PeerLost& another) {
      lost = another;
    }
  }
}

bool JointCall::join() {
  if (number_ == 0) return true;
  if (meet()) {
    if (error_.empty())
      agree_on_seeds();  // else nothing is computed: where it isn't, meet() throws
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
    std::vector<std::string> errors;
    const std::string own = fmt::format("{} {}", number_, error_);
    for (const std::string& text : strategy.exchange("numbers of calls", own)) {
      numbers.push_back(std::stoll(text));
      errors.push_back(text.substr(text.find(' ') + 1));
    }
    const auto [least, most] = std::ranges::minmax(numbers);
    if (least == most) {
      require_no_errors(errors);
      return true;
    }
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

// Of other workers, where this one has none of its own to throw.
void JointCall::require_no_errors(const std::vector<std::string>& errors) const {
  for (size_t worker = 0; worker < errors.size() && error_.empty(); ++worker) {
    check<Aborted>(errors[worker].empty(), "{}: worker {} has stopped: {}", what_, worker,
                   errors[worker]);
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
  restore_seed_sequence({.seed = static_cast<uint64_t>(call->at("seed").as_int()),
                         .drawn = static_cast<uint64_t>(call->at("drawn").as_int()),
                         .chosen = call->at("chosen").as_bool()});
  if (call->at("has variables").as_bool()) {
    take_variables(state);
  } else if (call->at("trains").as_bool()) {
    logging::warn(fmt::format(
        "{}: no worker has the weights of call {} any more, unless they are in the state of the "
        "training that goes on: here the model keeps those that it has.",
        what_, number));
  }
  figures_ = call->at("figures");
  finish(figures_, call->at("trains").as_bool() ? model_.trainer().trained_variables(model_)
                                                : std::weak_ptr<const TrainedVariables>());
}

void JointCall::take_variables(const RunState& state) {
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
                              what_, number_, part, difference);
    restore_variables(state, group, variables);
  }
}

void JointCall::finish(Json figures, std::weak_ptr<const TrainedVariables> trained) {
  if (number_ == 0) return;
  const bool trains = !trained.expired();
  const std::lock_guard lock(calls().mutex);
  calls().finished[number_] = {.figures = std::move(figures),
                               .trains = trains,
                               .trained = std::move(trained),
                               .seeds = seed_sequence()};
}

}  // namespace cornu
