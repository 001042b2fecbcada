// SPDX-License-Identifier: Apache-2.0
// What calls that all workers have made together have given, for those that have begun anew.
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

// Those of this process, by their numbers. What they have trained is kept as it was at their ends,
// up to 512 MiB of it (CORNU_KEPT_CALLS_MIB), of which what nothing has written to since costs no
// memory. Of the others a digest tells whether it still is as it was. Thread-safe.
class FinishedCalls {
 public:
  // InvalidArgument for a CORNU_KEPT_CALLS_MIB that is no number.
  static FinishedCalls& get();

  // What a call has given, beside what it has trained.
  struct Given {
    std::string what;  // it was: "fit"
    Json figures;
    Json input_shapes;  // of its model
  };
  // This call has ended, now. `trained`: what it has changed.
  void add(int64_t number, Given given, const std::weak_ptr<const TrainedVariables>& trained);
  // What these have given.
  RunState of(const std::set<int64_t>& numbers) const;

 private:
  struct Call {
    Given given;
    SeedSequence seeds;  // at its end
    bool trains = false;
    // What it has trained, at its end; or a digest of that, and where it is.
    std::optional<RunState> values = {};
    std::string digest = {};
    std::weak_ptr<const TrainedVariables> trained;
  };

  FinishedCalls();
  static RunState values_of(int64_t number, const Call& call);

  const size_t most_bytes_;
  mutable std::mutex mutex_;
  std::map<int64_t, Call> calls_;
  size_t bytes_ = 0;  // kept
};

// FailedPrecondition (WorkersDiffer: all workers throw it) where FinishedCalls::of couldn't give
// all of a call. `what`: "fit".
void require_given(const char* what, const RunState& calls, const std::set<int64_t>& numbers);

// The groups of variables of a call.
std::string group_of(int64_t number, const char* part);

}  // namespace cornu
