// SPDX-License-Identifier: Apache-2.0
// A call that all workers of a job make together.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "framework/callbacks/logs.h"
#include "framework/core/json.h"
#include "framework/core/variable.h"
#include "framework/saving/run_state.h"

namespace cornu {

class Model;

Json history_to_json(const History& history);
History history_from_json(const Json& json);
Json logs_to_json(const Logs& logs);
Logs logs_from_json(const Json& json);

// What a call of fit trains. It lives as long as the model.
struct TrainedVariables {
  std::vector<Variable> model;
  std::vector<Variable> optimizer;

  bool operator==(const TrainedVariables& other) const;  // whether they are the same ones
};

// Calls of fit and of evaluate by several workers are numbered, those within another one aside, so
// that a worker that was lost and has begun anew finds the others: calls that these have finished
// give it what they gave them, figures and (of fit) the model's variables as they are by now. On
// one worker all is as if there were no such numbers.
class JointCall {
 public:
  // `what`: "fit". Workers that have joined have the same seeds from then on. Called by all
  // workers. Errors as join().
  JointCall(const char* what, const Model& model);
  ~JointCall();
  JointCall(const JointCall&) = delete;
  JointCall& operator=(const JointCall&) = delete;

  // Whether all workers are in this call; false, with a warning, where others have finished it and
  // are in a later one. Waits for those that are in an earlier one. Called by all workers, in the
  // constructor, and again when workers have come back. FailedPrecondition where the variables of a
  // finished call can't be taken up.
  bool join();
  // Of the constructor.
  bool is_joined() const { return is_joined_; }
  // Where it isn't joined: what the call has given the others.
  const Json& figures() const { return figures_; }
  // It has given these; `trained`: the variables that it has changed.
  void finish(Json figures, std::weak_ptr<const TrainedVariables> trained = {});

 private:
  bool meet();
  void take(const std::string& finished);
  void take_variables(const RunState& state);

  const char* what_;
  const Model& model_;
  bool is_within_another_;
  int64_t number_ = 0;
  bool is_joined_ = true;
  Json figures_;
};

}  // namespace cornu
