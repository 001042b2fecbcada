// SPDX-License-Identifier: Apache-2.0
// Tracks which variables have the same values on all workers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "distribute/strategies/exchange.h"
#include "framework/core/variable.h"
#include "framework/graph/function.h"

namespace cornu::distribute {

// Variables used by a step stay identical from then on, since all workers write the same values to
// them in their steps. Other writes by a worker are detected by counting them. Variables of which
// every replica has a part of its own are ignored.
class KnownValues {
 public:
  // A step's functions, by replica.
  using Functions = std::vector<std::shared_ptr<const CompiledFunction>>;
  // What a worker reports about a step's variables before it runs the step.
  struct Account {
    bool has_new = false;  // some haven't been used by this group before
    uint64_t writes = 0;   // since they were identical; for new ones, since they were created
  };
  Account account_of(const Functions& functions) const;
  // Given the workers' reports: whether they must take() the variables' values, and whether doing
  // so may overwrite values set by a program.
  static bool may_differ(const std::vector<Account>& by_worker);
  static bool may_lose(const std::vector<Account>& by_worker);

  // One worker's membership in a group.
  struct Member {
    std::string strategy;
    int64_t worker = 0;
    Exchange exchange;
  };
  struct TakeOptions {
    bool warns = false;     // logs a warning on a worker whose values differed
    bool prepares = false;  // for a step that doesn't begin yet
  };
  // All workers take the values of the first worker that had them in an earlier group, when a step
  // began with them, or of worker 0 if there is none. Throws FailedPrecondition when the workers'
  // variables don't match.
  void take(const Functions& functions, const Member& member, const TakeOptions& options);
  // A step begins with the variables' values.
  void begin_step(const Functions& functions);
  // Forgets which variables are identical.
  void begin_group();

 private:
  std::unordered_map<uint64_t, uint64_t>
      versions_;  // version at which a variable was identical, by its number
  std::unordered_set<uint64_t> prepared_;  // of them, those that no step has begun with
  std::unordered_set<uint64_t> earlier_;   // variables of earlier groups
};

}  // namespace cornu::distribute
