// SPDX-License-Identifier: Apache-2.0
// The state of a call of fit: what it consists of, and how a run takes it up.
#include <algorithm>

#include "framework/core/logging.h"
#include "framework/graph/trace.h"
#include "framework/model/serialized.h"
#include "framework/saving/run_conditions.h"
#include "framework/saving/saved_variables.h"
#include "framework/train/fit_run.h"
#include "framework/train/worker_parts.h"

namespace cornu {
namespace {

// The batch number of the state before the first batch.
constexpr int64_t kBeginning = -1;

bool is_beginning(const RunState& state) { return state.info.at("batch") == Json(kBeginning); }

// Adds those of an optimizer, also where it hasn't been built, and of the optimizers it delegates
// to.
void add_variables(const Optimizer& optimizer, std::vector<Variable>& all) {
  const std::vector<Variable> own = optimizer.variables();
  all.insert(all.end(), own.begin(), own.end());
  if (optimizer.impl().built()) return;
  for (const auto& part : optimizer.impl().parts()) add_variables(part.second, all);
}

}  // namespace

// The initial state: if a worker is lost before a state is written, all start over from it.
void Trainer::FitRun::note_beginning(const Batch& first) {
  if (made_) made_->put_back();
  trainer_.prepare(model_, Kind::Train, first);
  agree_on_seeds();
  beginning_ = state(kBeginning, {}, *opened_);
  has_begun_ = true;
  untouched_.reset();
  made_.reset();
}

// Metrics are left out: each epoch resets them.
std::vector<Variable> Trainer::FitRun::lasting_variables() const {
  std::vector<Variable> all = model_.variables();
  add_variables(trainer_.optimizer(model_), all);
  return all;
}

void Trainer::FitRun::note_untouched() {
  if (!signals_ || get_strategy().impl().num_workers() == 1) return;
  opened_.reset();
  Untouched now{.variables = NotedVariables(lasting_variables())};
  save_callbacks(now.state, callbacks_->callbacks());
  save_conditions(now.state);
  untouched_ = std::move(now);
}

// What a lost first step was prepared with stays, with the values that it was made with, whatever
// callbacks do with a model that is built before its first step.
void Trainer::FitRun::note_made() {
  if (made_) return;
  std::vector<Variable> made = lasting_variables();
  std::erase_if(made, [&](const Variable& own) { return untouched_->variables.contains(own); });
  if (!made.empty()) made_.emplace(std::move(made));
}

void Trainer::FitRun::undo_touches() {
  iterator_ = EpochIterator(source_, options_.steps_per_epoch);
  validation_iterator_ = EpochIterator(validation_, options_.validation_steps);
  if (!untouched_) return;
  note_made();
  // agree_on_orders() sees to sources that have keys.
  const auto reopen = [](EpochIterator& iterator, const BatchSource& source, const Json& place) {
    if (source.order_keys().empty()) iterator.restore(place);
  };
  if (opened_) {
    reopen(iterator_, *source_, opened_->at("source"));
    if (validation_) reopen(validation_iterator_, *validation_, opened_->at("validation"));
  }
  trainer_.optimizer(model_).impl().restore_schedules(schedules_);
  untouched_->variables.put_back();
  restore_callbacks(untouched_->state, callbacks_->callbacks());
  restore_seeds(untouched_->state);
}

VariableGroups Trainer::FitRun::variables() const {
  const auto lock = tracing_lock();  // another thread's trace may be making some
  VariableGroups groups = {{"model", model_.variables()},
                           {"optimizer", trainer_.optimizer(model_).variables()},
                           {"metrics", {}}};
  for (const Metric& metric : model_.metrics()) {
    const std::vector<Variable> states = metric.variables();
    groups.back().second.insert(groups.back().second.end(), states.begin(), states.end());
  }
  const auto written = [this](Kind kind) { return trainer_.step_of(kind).written_variables(); };
  add_others(groups, kOfStep, written(Kind::Train));
  if (validation_) add_others(groups, kOfTestStep, written(Kind::Test));
  return groups;
}

Json Trainer::FitRun::places() const {
  return Json::object({{"source", iterator_.save()}, {"validation", validation_iterator_.save()}});
}

RunState Trainer::FitRun::state(std::optional<int64_t> batch, const Logs& figures) const {
  return state(batch, figures, places());
}

RunState Trainer::FitRun::state(std::optional<int64_t> batch, const Logs& figures,
                                const Json& places) const {
  get_strategy().impl().finish_steps();
  const Json schedules = trainer_.optimizer(model_).impl().schedules();
  RunState state;
  state.info = Json::object({{"epoch", epoch_},
                             {"batch", batch ? Json(*batch) : Json()},
                             {"stopped", stopped_},
                             {"steps", config_value(callbacks_->params().steps)},
                             {"first_steps", config_value(callbacks_->params().first_steps)},
                             {"optimizer", trainer_.optimizer(model_).impl().class_name()},
                             {"optimizer_config", optimizer_config_},
                             {"schedules", schedules == schedules_ ? Json() : schedules},
                             {"facts", facts_},
                             {"source", places.at("source")},
                             {"validation", places.at("validation")},
                             {"replicas", get_strategy().num_replicas_in_sync()},
                             {"history", history_to_json(history_)},
                             {"logs", logs_to_json(figures)}});
  save_conditions(state);
  for (const auto& [group, members] : variables()) save_variables(state, group, members);
  save_callbacks(state, callbacks_->callbacks());
  RunState own = own_part(places);
  if (get_strategy().impl().worker() == 0) own.info.set(kCallbacks, state.info.at(kCallbacks));
  add_worker_parts(state, own);
  return state;
}

RunState Trainer::FitRun::own_part(const Json& places) const {
  RunState own;
  own.info = places;
  save_variables(own, kOwnVariables, on_read(variables()));
  return own;
}

bool Trainer::FitRun::resume() {
  std::optional<DataLoss> damage;
  try {
    resumed_ = kept_state(callbacks_->callbacks());
  } catch (const DataLoss& error) {
    damage = error;
  }
  const std::string folder = resumed_ ? resumed_->folder : "";
  resumed_ = newest_state(resumed_ ? std::move(resumed_) : beginning_);
  if (damage && !resumed_) throw *damage;
  if (!resumed_) return false;
  if (damage) logging::warn(fmt::format("{} Another worker's state is used.", damage->what()));
  beginning_.reset();
  if (is_beginning(*resumed_)) beginning_ = resumed_;
  kept_ = !beginning_;
  has_begun_ = true;
  untouched_.reset();
  try {
    take_up_state();
  } catch (FailedPrecondition& error) {
    if (!folder.empty()) {
      error.add_advice(fmt::format("The saved state is in the directory '{}'.", folder));
    }
    throw;
  }
  return true;
}

void Trainer::FitRun::take_up_state() {
  const Json& info = resumed_->info;
  const std::optional<RunState> own = own_worker_part(*resumed_);
  const std::string now = trainer_.optimizer(model_).impl().class_name();
  const std::string& then = info.at("optimizer").as_string();
  check<FailedPrecondition>(
      now == then,
      "fit: the saved run was trained with {}, but this program compiles the model with {}. "
      "Restart the original program, or delete the saved state to start over.",
      then, now);
  const Json& batch = info.at("batch");
  epoch_ = info.at("epoch").as_int();
  check<DataLoss>(epoch_ >= 0, "fit: the saved run is damaged: its epoch is {}.", epoch_);
  const Json* stopped = info.find("stopped");
  stopped_ = stopped && stopped->as_bool();
  model_.stop_training = stopped_;
  const std::string place =
      place_of(epoch_, batch.is_null() ? std::nullopt : std::optional(batch.as_int()));
  logging::info(is_beginning(*resumed_) ? kBeginsAnew
                                        : fmt::format("Training resumes {}{}.", place,
                                                      stopped_ ? ", where it was stopped" : ""));
  warn_of_other_conditions(*resumed_);
  const StrategyImpl& strategy = get_strategy().impl();
  if (workers_of(*resumed_) == strategy.num_workers()) {
    warn_of_other_replicas(*resumed_, strategy.num_replicas_in_sync());
    resume_steps(info);
  }
  warn_of_other_seed(*resumed_);
  optimizer_config_ = resumed_config(info.at("optimizer_config"), optimizer_config_);
  warn_of_other_callbacks(*resumed_, callbacks_->callbacks());
  restore_schedules(info);
  make_variables(*resumed_, Kind::Train, iterator_);
  if (validation_) make_variables(*resumed_, Kind::Test, validation_iterator_);
  restore_schedules(info);  // also for optimizers created by the first step
  history_ = history_from_json(info.at("history"));
  restore_places(own ? own->info : info, workers_of(*resumed_));
  restore(*resumed_);
  if (const Json* facts = info.find("facts")) warn_of_other_facts(*facts, facts_);
  is_further_ = epoch_ + 1 > options_.epochs;
  if (is_further_) warn_of_fewer_epochs(options_.epochs, place);
  if (batch.is_null()) {
    ++epoch_;
    logs_ = logs_from_json(info.at("logs"));
    resumed_.reset();
  }
}

// Callbacks get the step counts of an uninterrupted run, unless this program changes them.
void Trainer::FitRun::resume_steps(const Json& info) {
  std::optional<int64_t> steps, first_steps;
  ConfigReader counts(info);
  counts("steps", steps);
  counts("first_steps", first_steps);
  if (iterator_.steps() && iterator_.steps() != first_steps) return;
  callbacks_->restore_steps(steps, first_steps);
}

void Trainer::FitRun::restore_places(const Json& places, int64_t workers) {
  const int64_t now = get_strategy().impl().num_workers();
  if (workers != now) {
    logging::info(fmt::format("fit: {} workers resume a run of {}.", now, workers));
  }
  try {
    using BatchSize = EpochIterator::BatchSize;
    const BatchSize size = workers == now ? BatchSize::Same : BatchSize::Any;
    // Every evaluation starts from the first batch.
    const bool has_other_batches = iterator_.restore(places.at("source"), size);
    if (validation_ && !has_other_batches) {
      validation_iterator_.restore(places.at("validation"), size);
    }
  } catch (const FailedPrecondition& error) {
    if (workers == now) throw;
    raise<FailedPrecondition>(
        "fit: the saved run had {} workers, this one has {}, and their positions in the data can't "
        "be converted: {} The number of workers can change where batches are divided among them "
        "(AutoShardPolicy::Data, or arrays); then the size of global batches can change, too. "
        "Start as many, or delete the saved state to start over.",
        workers, now, error.what());
  }
}

// Restores schedules that were set after the run began, or the original ones if there are none.
void Trainer::FitRun::restore_schedules(const Json& info) {
  const Json* set = info.find("schedules");
  trainer_.optimizer(model_).impl().restore_schedules(set && !set->is_null() ? *set : schedules_);
}

// Layers, metrics and optimizers create variables in the first step. It is run for that purpose, by
// all workers if any of them needs it, and its other effects are undone.
void Trainer::FitRun::make_variables(const RunState& state, Kind kind,
                                     const EpochIterator& iterator) {
  const auto groups = variables();
  const bool lacks = std::ranges::any_of(groups, [&](const auto& group) {
    const int64_t then = count_of_saved_variables(state, group.first);
    const auto now = static_cast<int64_t>(group.second.size());
    if (kind == Kind::Test) return group.first == kOfTestStep && now < then;
    return group.first != kOfTestStep && now != then;
  });
  const auto by_worker =
      get_strategy().impl().exchange("what is lacking", lacks ? "lacks some" : "");
  if (std::ranges::all_of(by_worker, &std::string::empty)) return;
  // A failed step leaves values that can't be used.
  for (const auto& [group, members] : groups) {
    if (difference_of_variables(state, group, members).empty()) {
      restore_variables(state, group, members);
    }
  }
  Batch batch;
  check<FailedPrecondition>(iterator.peek(batch), "fit: the data to resume with are empty.");
  trainer_.run(model_, kind, batch);
}

// With several workers: what the test step alone writes is known, and has its first values, when it
// has been prepared.
void Trainer::FitRun::note_untested(const Batch& first) {
  if (!signals_ || get_strategy().impl().num_workers() == 1) return;
  trainer_.prepare(model_, Kind::Test, first);  // also when some of the workers have done it before
  if (!untested_) untested_ = NotedVariables(variables().back().second);
}

void Trainer::FitRun::restore(const RunState& state) {
  if (untested_ && count_of_saved_variables(state, kOfTestStep) == 0) untested_->put_back();
  restore_own_variables(state, on_read(restore_groups(state, variables())));
  restore_callbacks(state, callbacks_->callbacks());
  restore_seeds(state);
}

}  // namespace cornu
