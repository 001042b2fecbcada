// SPDX-License-Identifier: Apache-2.0
// What workers compare of their programs before they compute together, and a run that goes on with
// the one that it goes on with.
#pragma once

#include <string>
#include <vector>

#include "framework/core/error.h"
#include "framework/core/json.h"
#include "framework/train/model.h"

namespace cornu {

// What all workers throw at the same place: there is nobody to be told.
class WorkersDiffer : public FailedPrecondition {
 public:
  using FailedPrecondition::FailedPrecondition;
};

// WorkersDiffer, on every worker, where what they say of their programs differs: `facts` by
// name; one that only some can tell isn't compared. The message, which begins with `what`, says
// for each worker where it differs from worker 0 first, and what each has there. Called by all
// workers; where all is alike, digests are all that travels.
void require_same_on_workers(const std::string& what, const Json& facts);

// Where a fact of two programs differs first: "relu" in place of "tanh" "at config.activation of"
// the "model".
struct FactDifference {
  std::string name;
  std::string where;  // empty: the whole
  std::string first;
  std::string other;
};

// Of all facts that both can tell.
std::vector<FactDifference> differences_of_facts(const Json& first, const Json& other);

// A model's config (names of its layers stand for their places: who has made other models before
// has other names), and what it was compiled with; the optimizer and how steps are run only where
// it `trains`.
Json facts_of_model(const Model& model, bool trains);

// Those of `from`, their names behind `prefix`.
void add_facts(Json& facts, const std::string& prefix, const Json& from);

}  // namespace cornu
