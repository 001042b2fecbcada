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

// What a call of fit trains. It lives until the model trains others, or goes.
struct TrainedVariables {
  std::vector<Variable> model;
  std::vector<Variable> optimizer;

  bool operator==(const TrainedVariables& other) const;  // whether they are the same ones
};

// Calls of fit and of evaluate by several workers are numbered, those within another one aside, so
// that a worker that was lost and has begun anew finds the others: calls that these have finished
// give it what they gave them, figures and (of fit) the model's variables as they were at its end.
// On one worker all is as if there were no such numbers.
class JointCall {
 public:
  // `what`: "fit". `keeps_state`: lost workers are waited for from now on. FailedPrecondition on
  // several workers while another thread of this one is in a call: all must make their calls in one
  // order.
  JointCall(const char* what, Model& model, bool keeps_state = false);
  ~JointCall();
  JointCall(const JointCall&) = delete;
  JointCall& operator=(const JointCall&) = delete;

  // Whether all workers are in this call; false, with a warning, where others have finished it and
  // are in a later one. Waits for those that are in an earlier one. Workers that have joined have
  // the same seeds from then on. Called by all workers, and again when some have come back.
  // FailedPrecondition where the variables of a finished call can't be taken up; on all workers
  // where they aren't known any more.
  bool join();
  // join(), before anything is done together, with the same weights, where an earlier call of this
  // process had them (agree_on_values); a worker that is lost then is waited for, as rejoin()
  // does. `error`: what this worker has found wrong of its arguments. Where it has found nothing
  // and another one has: Aborted. The group goes on: all may have made the same mistake.
  bool begin(const std::string& error);
  // A worker was lost, and nothing has to be restored but what all of them begin the call with:
  // waits for it, and joins the call again. Rethrows within another call, which does that, and
  // where nobody may start the worker again: no call has kept a state, and what has started the
  // workers doesn't do so.
  bool rejoin(PeerLost lost);
  // Where it isn't joined: what the call has given the others.
  const Json& figures() const { return figures_; }
  // Whether others may come to ask what it has given: not on one worker, nor within another call.
  bool is_numbered() const { return number_ != 0; }
  // It has given these; `trained`: the variables that it has changed.
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
  std::string error_;       // of this worker's arguments
  bool begins_ = false;     // nothing of it has been computed here;
  bool all_begin_ = false;  // nor on any worker
  Json figures_;
};

}  // namespace cornu
