// SPDX-License-Identifier: Apache-2.0
// Compares the programs of workers before they compute together, and a resumed run with the saved
// one.
#pragma once

#include <string>
#include <vector>

#include "framework/core/error.h"
#include "framework/core/json.h"
#include "framework/train/model.h"

namespace cornu {

// An error that all workers throw at the same point, so that no worker needs to be notified.
class WorkersDiffer : public FailedPrecondition {
 public:
  using FailedPrecondition::FailedPrecondition;
};

// Throws WorkersDiffer, on every worker, if the workers' `facts` about their programs differ; facts
// that only some workers know aren't compared. The message starts with `what` and gives, for each
// worker, the first difference from worker 0 and both values. Must be called by all workers; if
// everything matches, only digests are exchanged.
void require_same_on_workers(const std::string& what, const Json& facts);

// The first difference in a fact of two programs: "relu" instead of "tanh" "at config.activation
// of" the "model".
struct FactDifference {
  std::string name;
  std::string where;  // empty: the whole fact
  std::string first;
  std::string other;
};

// Compares the facts that both programs know.
std::vector<FactDifference> differences_of_facts(const Json& first, const Json& other);

// The model's config (with names of layers replaced by numbers, since they depend on which models
// were created before) and compile arguments; the optimizer and how steps are run are included only
// if it `trains`.
Json facts_of_model(const Model& model, bool trains);

// Adds the facts of `from`, with `prefix` prepended to their names.
void add_facts(Json& facts, const std::string& prefix, const Json& from);

}  // namespace cornu
