// SPDX-License-Identifier: Apache-2.0
// One call of fit: its loop, and its state, which callbacks keep and resume from.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "framework/core/stop_signals.h"
#include "framework/saving/run_state.h"
#include "framework/train/epoch_iterator.h"
#include "framework/train/joint_call.h"
#include "framework/train/resumed_parts.h"
#include "framework/train/trainer.h"

namespace cornu {

// Whether a callback keeps the state of the run.
bool keeps_state(const FitOptions& options);

class Trainer::FitRun {
 public:
  // All workers have joined the call.
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
  // Gives it to the callbacks that want it, after a batch or (none) after an epoch.
  void offer_state(std::optional<int64_t> batch, const std::function<Logs()>& logs);
  RunState state(std::optional<int64_t> batch, const Logs& figures) const;
  RunState state(std::optional<int64_t> batch, const Logs& figures, const Json& places) const;
  // Where training and validation stand in their data.
  Json places() const;
  // Remembers how the run begins, before the first batch, in front of which `places` are.
  void note_beginning(const Json& places, const Batch& first);
  // A signal that this process got, or another worker's: what all knew when the last step began, or
  // know now, for which all workers call it together.
  enum class Known { AtLastStep, Now };
  std::optional<StopSignal> stop_signal(Known when = Known::AtLastStep);
  // Whether training ends after this batch, or epoch, because any worker's callback says so.
  bool stops_here();
  void tell_of_kept_states();
  bool stops_after_epoch();
  // What a worker has of its own in the state of all.
  RunState own_part(const Json& places) const;
  // All workers go through their data alike.
  void agree_on_orders();
  // Another worker was lost: waits for it.
  void recover(const PeerLost& lost);
  // A signal came: gives the state, if there is a new one, to all callbacks that keep it.
  // Interrupted when the run is to end.
  void keep_and_end(const StopSignal& signal, std::optional<int64_t> batch, const RunState* state);
  // What the run has of variables now: model, optimizer, metrics, and others that its step writes.
  VariableGroups variables() const;
  // Resumes from the state that a callback has, or begins anew from what this run began with.
  // Whether there was either. Errors name the state's folder.
  bool resume();
  void take_up_state();
  void resume_steps(const Json& info);
  void restore_places(const Json& places, int64_t workers);
  void make_variables(const RunState& state);
  // Variables, callbacks and random seeds.
  void restore(const RunState& state);
  void restore_schedules(const Json& info);
  Json facts(bool of_worker) const;
  Json facts_of_schedule() const;

  // Before all others: when this ends, everything is written.
  std::optional<StopSignals> signals_;
  Trainer& trainer_;
  Model& model_;
  Json data_facts_ = Json::object();
  const FitOptions& options_;
  std::shared_ptr<BatchSource> source_;  // this worker's part
  EpochIterator iterator_;
  std::shared_ptr<BatchSource> validation_;
  EpochIterator validation_iterator_;
  CallbackList callbacks_;
  History history_;
  Logs logs_;  // of the last epoch
  int64_t epoch_;
  bool stopped_ = false;     // is this epoch, or this batch of it, the last one whatever comes?
  bool is_further_ = false;  // has the state more epochs than there are to train?
  JointCall& call_;
  Json optimizer_config_;            // as the run began
  Json schedules_;                   // as the run began
  Json facts_;                       // as the run began
  std::optional<RunState> resumed_;  // a state from within an epoch, until its next batch
  std::optional<StopSignal> noticed_;
  uint32_t bits_ = 0;   // what other workers must know: signals
  std::string unkept_;  // why a state isn't kept, which the others haven't been told yet
  bool kept_ = false;   // has a state been given to those that keep it, since it began?
  // Of several workers: how the run began, until a state is written.
  std::optional<RunState> beginning_;
  std::vector<std::vector<uint64_t>> orders_;  // of the data, as the call began
  bool has_begun_ = false;                     // have there been a step or a state in this call?
};

}  // namespace cornu
