// SPDX-License-Identifier: Apache-2.0
// A call that all workers of a job make together.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "framework/callbacks/logs.h"
#include "framework/core/error.h"
#include "framework/core/json.h"
#include "framework/core/variable.h"
#include "framework/saving/run_state.h"

namespace cornu {

class Model;

Json history_to_json(const History& history);
History history_from_json(const Json& json);
Json logs_to_json(const Logs& logs);
Logs logs_from_json(const Json& json);

// The variables trained by a call of fit. Lives until the model trains other variables or is
// destroyed.
struct TrainedVariables {
  std::vector<Variable> model;
  std::vector<Variable> optimizer;

  bool operator==(const TrainedVariables& other) const;  // whether they are the same variables
};

// With several workers, calls of fit and evaluate are numbered (nested calls excepted), so that a
// lost worker that restarts can catch up with the others: for calls that the others have already
// finished, it takes over their results, i.e. the figures and (for fit) the model's variables at
// the end of the call. With a single worker, there is no numbering.
class JointCall {
 public:
  // `what`: "fit". `keeps_state`: from now on, lost workers are waited for. With several workers,
  // throws FailedPrecondition while another thread of this worker is in a call, because all workers
  // must make their calls in the same order.
  JointCall(const char* what, Model& model, bool keeps_state = false);
  ~JointCall();
  JointCall(const JointCall&) = delete;
  JointCall& operator=(const JointCall&) = delete;

  // Returns whether all workers are in this call; false, with a warning, if others have already
  // finished it and are in a later one. Waits for workers that are in an earlier one. Workers that
  // have joined share the same seeds from then on. Must be called by all workers, and again when
  // workers have come back. Throws FailedPrecondition when the variables of a finished call can't
  // be restored; if the others no longer have them, on all workers.
  bool join();
  // Calls join() before anything is computed together, and equalizes the weights that an earlier
  // call of this process used (agree_on_values). If a worker is lost meanwhile, waits for it as
  // rejoin() does. `error`: a problem that this worker found with its arguments. Throws Aborted if
  // another worker reports an error and this one doesn't. The group stays usable, since all workers
  // may have made the same mistake.
  bool begin(const std::string& error);
  // Waits for a lost worker and joins the call again, when nothing needs to be restored except the
  // state with which all workers begin the call. Rethrows within a nested call, whose outer call
  // handles the loss, and when nothing would restart the worker: no call has saved a state, and
  // whatever launched the workers doesn't restart them.
  bool rejoin(PeerLost lost);
  // When join() returned false: the results that the call had on the other workers.
  const Json& figures() const { return figures_; }
  // Whether others may later ask for the results; false with a single worker and for nested calls.
  bool is_numbered() const { return number_ != 0; }
  // Records the results of the call; `trained`: the variables that it changed.
  void finish(Json figures, const std::weak_ptr<const TrainedVariables>& trained = {});

 private:
  bool meet();
  void require_no_errors(const std::vector<std::string>& errors) const;
  std::vector<Variable> variables() const;
  void agree_on_weights();
  void take(const RunState& finished);
  void take_variables(const RunState& state);
  void build_as(const Json& input_shapes);

  const char* what_;
  Model& model_;
  bool is_within_another_;
  int64_t number_ = 0;
  std::string error_;       // in this worker's arguments
  bool begins_ = false;     // nothing has been computed in this call, here
  bool all_begin_ = false;  // or on any worker
  Json figures_;
};

}  // namespace cornu
