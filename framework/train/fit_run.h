// SPDX-License-Identifier: Apache-2.0
// One call of fit: its loop, and its state, which callbacks save and resume from.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "framework/core/stop_signals.h"
#include "framework/saving/run_state.h"
#include "framework/train/epoch_iterator.h"
#include "framework/train/joint_call.h"
#include "framework/train/noted_variables.h"
#include "framework/train/resumed_parts.h"
#include "framework/train/trainer.h"

namespace cornu {

// "after epoch 2", "after batch 3 of epoch 2"; both are counted from 0.
std::string place_of(int64_t epoch, std::optional<int64_t> batch);

constexpr const char* kBeginsAnew =
    "Training starts over: a worker was lost before a state was saved.";

// Whether a callback saves the state of the run.
bool keeps_state(const FitOptions& options);

class Trainer::FitRun {
 public:
  // All workers must have joined the call.
  FitRun(Trainer& trainer, Model& model, std::shared_ptr<BatchSource> source,
         const FitOptions& options, JointCall& call);

  History run();

 private:
  std::shared_ptr<BatchSource> shared(const char* which, std::shared_ptr<BatchSource> source);
  void train();
  void end();
  Logs train_epoch();
  void evaluate(Logs& logs);

  // ---- the state of the run ----
  // Offers the state to the callbacks that want it, after a batch or (nullopt) after an epoch.
  void offer_state(std::optional<int64_t> batch, const std::function<Logs()>& logs);
  RunState state(std::optional<int64_t> batch, const Logs& figures) const;
  RunState state(std::optional<int64_t> batch, const Logs& figures, const Json& places) const;
  // The positions of training and validation in their data.
  Json places() const;
  // With several workers: records what may change before the first step, or puts it back.
  void note_untouched();
  void undo_touches();
  // Records the initial state of the run.
  void note_beginning(const Batch& first);
  void note_made();
  std::vector<Variable> lasting_variables() const;
  // Returns a stop signal received by this or another worker: either one that all workers knew of
  // when the last step began, or (Now, which all workers must call together) one received until
  // now.
  enum class Known { AtLastStep, Now };
  std::optional<StopSignal> stop_signal(Known when = Known::AtLastStep);
  // Whether training ends after this batch or epoch because a callback of any worker requests it.
  bool stops_here();
  void tell_of_kept_states();
  bool stops_after_epoch();
  // A worker's own part of the shared state.
  RunState own_part(const Json& places) const;
  // Makes all workers go through their data in the same order.
  void agree_on_orders();
  // Waits for another worker that was lost.
  void recover(const PeerLost& lost);
  // Waits for callbacks to write the state that they were given last, and for other workers.
  // Returns what is to be said of it, and whether it was written.
  std::pair<std::string, bool> settle_state();
  // Handles a signal: passes the state, if there is a new one, to all callbacks that save it.
  // Throws Interrupted when the run is to end.
  void keep_and_end(const StopSignal& signal, std::optional<int64_t> batch, const RunState* state);
  // All variables of the run at present: those of the model, the optimizer and metrics, and others
  // that its step writes.
  VariableGroups variables() const;
  // Resumes from a callback's saved state, or starts over from the run's initial state. Returns
  // whether there was either. Errors name the state's directory.
  bool resume();
  void take_up_state();
  void resume_steps(const Json& info);
  void restore_places(const Json& places, int64_t workers);
  void make_variables(const RunState& state, Kind kind, const EpochIterator& iterator);
  void note_untested(const Batch& first);
  // Restores variables, callbacks and random seeds.
  void restore(const RunState& state);
  void restore_schedules(const Json& info);
  Json facts(bool of_worker) const;
  Json facts_of_schedule() const;

  // Declared first so that it is destroyed last, when everything is written.
  std::optional<StopSignals> signals_;
  Trainer& trainer_;
  Model& model_;
  Json data_facts_ = Json::object();
  const FitOptions& options_;
  std::shared_ptr<BatchSource> source_;  // this worker's part
  EpochIterator iterator_;
  std::shared_ptr<BatchSource> validation_;
  EpochIterator validation_iterator_;
  std::optional<CallbackList> callbacks_;  // until they have left the run
  History history_;
  Logs logs_;  // of the last epoch
  int64_t epoch_;
  bool stopped_ = false;     // this epoch, or this batch of it, is the last one in any case
  bool is_further_ = false;  // the saved state has more epochs than this run trains
  JointCall& call_;
  Json optimizer_config_;            // at the start of the run
  Json schedules_;                   // at the start of the run
  Json facts_;                       // at the start of the run
  std::optional<RunState> resumed_;  // a state from within an epoch, until its next batch
  std::optional<StopSignal> noticed_;
  uint32_t bits_ = 0;   // flags, such as signals, to share with other workers
  std::string unkept_;  // why a state isn't saved, if the others don't know yet
  bool kept_ = false;   // a state was passed to callbacks since the run began
  // With several workers: the run's initial state, until a state is written.
  std::optional<RunState> beginning_;
  std::vector<std::vector<uint64_t>> orders_;  // of the data, at the start of the call
  bool has_begun_ = false;                     // there was a step or a restored state in this call
  // With several workers, until the first step: the values and callbacks' states before the first
  // epoch, and the positions in passes that were opened but not read.
  struct Untouched {
    NotedVariables variables;
    RunState state = {};
  };
  std::optional<Untouched> untouched_;
  std::optional<Json> opened_;
  std::optional<NotedVariables> made_;      // by preparing a first step that was lost
  std::optional<NotedVariables> untested_;  // written by the test step alone, before the first one
};

}  // namespace cornu
