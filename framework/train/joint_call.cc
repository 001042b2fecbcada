// SPDX-License-Identifier: Apache-2.0
#include "framework/train/joint_call.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include "framework/core/error.h"
#include "framework/core/logging.h"
#include "framework/core/random.h"
#include "framework/saving/run_state.h"
#include "framework/saving/saved_variables.h"
#include "framework/strategy/job_end.h"
#include "framework/strategy/strategy.h"
#include "framework/train/agreed_values.h"
#include "framework/train/finished_calls.h"
#include "framework/train/model.h"
#include "framework/train/same_on_workers.h"
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

thread_local int64_t open_calls = 0;  // nesting depth

// The calls made by this process.
struct Calls {
  std::mutex mutex;
  int64_t begun = 0;
  bool is_open = false;
  bool keeps_state = false;              // any of the calls saves state
  std::unordered_set<uint64_t> alike{};  // variables that have been in a call
};

Calls& calls() {
  static auto* const all = new Calls;
  return *all;
}

bool are_same(const std::vector<Variable>& a, const std::vector<Variable>& b) {
  return std::ranges::equal(a, b, {}, &Variable::number, &Variable::number);
}

}  // namespace

bool TrainedVariables::operator==(const TrainedVariables& other) const {
  return are_same(model, other.model) && are_same(optimizer, other.optimizer);
}

JointCall::JointCall(const char* what, Model& model, bool keeps_state)
    : what_(what), model_(model), is_within_another_(open_calls > 0) {
  if (!is_within_another_ && get_strategy().impl().num_workers() > 1) {
    FinishedCalls::get();  // reports its errors now, not at the end of a call
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
  get_strategy().impl().pass_on();
  const std::lock_guard lock(calls().mutex);
  calls().is_open = false;
  JobEnd::get().set_in_call(false);
}

bool JointCall::begin(const std::string& error) {
  error_ = error;
  begins_ = true;
  bool is_joined = false;
  try {
    is_joined = join();
  } catch (const PeerLost& lost) {
    is_joined = rejoin(lost);
  }
  begins_ = false;
  return is_joined;
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
    if (error_.empty()) {  // otherwise meet() throws unless all workers have errors
      agree_on_seeds();
      if (all_begin_) agree_on_weights();
    }
    return true;
  }
  logging::warn(
      fmt::format("{}: the other workers have already completed call {} of fit and evaluate. This "
                  "restarted worker takes over its results and continues with the next call.",
                  what_, number_));
  return false;
}

std::vector<Variable> JointCall::variables() const {
  std::vector<Variable> all = model_.variables();
  if (model_.compiled()) {
    const std::vector<Variable> more = model_.optimizer().variables();
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

// Undoes changes that a program made on a single worker since the variables were in a call.
void JointCall::agree_on_weights() {
  const std::vector<Variable> all = variables();
  bool were_alike = false;
  {
    const std::lock_guard lock(calls().mutex);
    were_alike = std::ranges::any_of(
        all, [](const Variable& variable) { return calls().alike.contains(variable.number()); });
  }
  agree_on_values(what_, all, were_alike);
}

// Returns whether all workers are in the same call; false if others are in a later one.
bool JointCall::meet() {
  StrategyImpl& strategy = get_strategy().impl();
  while (true) {
    std::vector<int64_t> numbers;
    std::vector<std::string> errors;
    all_begin_ = true;
    const Json own = Json::object({{"number", number_}, {"begins", begins_}, {"error", error_}});
    for (const std::string& text : strategy.exchange("numbers of calls", own.dump())) {
      const Json theirs = Json::parse(text);
      numbers.push_back(theirs.at("number").as_int());
      errors.push_back(theirs.at("error").as_string());
      all_begin_ = all_begin_ && theirs.at("begins").as_bool();
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
        "finished calls",
        source == strategy.worker() ? encode_run_state(FinishedCalls::get().of(behind)) : "");
    const RunState given = decode_run_state(all[static_cast<size_t>(source)]);
    try {
      require_given(what_, given, behind);
    } catch (const WorkersDiffer&) {  // don't leave while another worker is still reading
      try {
        strategy.exchange("that a call isn't known", "");
      } catch (const Error&) {
      }
      throw;
    }
    if (number_ == most) continue;
    take(given);
    return false;
  }
}

// Reports other workers' errors, unless this worker has its own to throw.
void JointCall::require_no_errors(const std::vector<std::string>& errors) const {
  for (size_t worker = 0; worker < errors.size() && error_.empty(); ++worker) {
    check<Aborted>(errors[worker].empty(), "{}: worker {} has stopped: {}", what_, worker,
                   errors[worker]);
  }
}

void JointCall::take(const RunState& finished) {
  const Json& call = finished.info.at(std::to_string(number_));
  const bool trains = call.at("trains").as_bool();
  const std::string& what = call.at("what").as_string();
  try {
    check<FailedPrecondition>(
        what == what_,
        "{}: this worker was restarted, and its call {} of fit and evaluate is {}, while it was {} "
        "on the others. Let the program do the same whenever it is started (files that it has "
        "written may change that), or restart all workers.",
        what_, number_, what_, what);
    if (trains) take_variables(finished);
  } catch (const FailedPrecondition& error) {
    get_strategy().impl().fail(error.what());  // no worker should wait for another attempt
    throw;
  }
  restore_seed_sequence({.seed = static_cast<uint64_t>(call.at("seed").as_int()),
                         .drawn = static_cast<uint64_t>(call.at("drawn").as_int()),
                         .chosen = call.at("chosen").as_bool()});
  figures_ = call.at("figures");
  finish(figures_, trains ? model_.trainer().trained_variables(model_)
                          : std::weak_ptr<const TrainedVariables>());
}

// Builds the model with the shapes that its first batch had on the other workers. If this fails,
// the variables differ, which is reported.
void JointCall::build_as(const Json& input_shapes) {
  if (model_.built() || input_shapes.size() == 0) return;
  std::vector<Shape> shapes;
  for (const Json& shape : input_shapes.as_array()) shapes.push_back(shape.as_shape());
  try {
    shapes.size() == 1 ? model_.build(shapes[0]) : model_.ensure_built(shapes);
  } catch (const Error&) {
  }
}

void JointCall::take_variables(const RunState& state) {
  const Optimizer& optimizer = model_.optimizer();
  build_as(state.info.at(std::to_string(number_)).at("input_shapes"));
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

void JointCall::finish(Json figures, const std::weak_ptr<const TrainedVariables>& trained) {
  if (number_ == 0) return;
  Json::Array shapes;
  for (const Shape& shape : model_.built_shapes()) shapes.emplace_back(shape);
  FinishedCalls::get().add(
      number_, {.what = what_, .figures = std::move(figures), .input_shapes = std::move(shapes)},
      trained);
  const std::vector<Variable> all = variables();
  const std::lock_guard lock(calls().mutex);
  for (const Variable& variable : all) calls().alike.insert(variable.number());
}

}  // namespace cornu
