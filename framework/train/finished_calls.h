// SPDX-License-Identifier: Apache-2.0
// Results of calls that all workers have made together, kept for workers that are restarted.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "framework/core/json.h"
#include "framework/core/random.h"
#include "framework/saving/run_state.h"
#include "framework/train/joint_call.h"

namespace cornu {

// This process's finished calls, by number. The variables that a call trained are kept as they were
// at its end, up to a total of 512 MiB (CORNU_KEPT_CALLS_MIB); values not written since don't take
// extra memory. Beyond that, only a digest is kept, which tells whether the variables are
// unchanged. Thread-safe.
class FinishedCalls {
 public:
  // Throws InvalidArgument when CORNU_KEPT_CALLS_MIB isn't a number.
  static FinishedCalls& get();

  // The results of a call, besides the variables that it trained.
  struct Given {
    std::string what;  // name of the call: "fit"
    Json figures;
    Json input_shapes;  // of its model
  };
  // Records that this call has just ended. `trained`: the variables that it changed.
  void add(int64_t number, Given given, const std::weak_ptr<const TrainedVariables>& trained);
  // Returns the results of these calls.
  RunState of(const std::set<int64_t>& numbers) const;

 private:
  struct Call {
    Given given;
    SeedSequence seeds;  // at its end
    bool trains = false;
    // The trained values at the call's end; or their digest and a reference to the variables.
    std::optional<RunState> values = {};
    std::string digest = {};
    std::weak_ptr<const TrainedVariables> trained;
  };

  FinishedCalls();
  static RunState values_of(int64_t number, const Call& call);

  const size_t most_bytes_;
  mutable std::mutex mutex_;
  std::map<int64_t, Call> calls_;
  size_t bytes_ = 0;  // total of the kept values
};

// Throws FailedPrecondition (as WorkersDiffer, on all workers) when FinishedCalls::of couldn't
// return a call's complete results. `what`: "fit".
void require_given(const char* what, const RunState& calls, const std::set<int64_t>& numbers);

// The names of a call's groups of variables.
std::string group_of(int64_t number, const char* part);

}  // namespace cornu
