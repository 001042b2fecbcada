// SPDX-License-Identifier: Apache-2.0
// Variables that have the same values on all workers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "framework/core/variable.h"
#include "framework/graph/function.h"

namespace cornu::distribute {

// Those that a step has used are the same from then on, since all workers write alike to them in
// their steps. What one of them writes to them besides is told by how often it has been done. Not
// meant are variables of which every replica has its own part.
class KnownValues {
 public:
  // A step's, as replicas run it.
  using Functions = std::vector<std::shared_ptr<const CompiledFunction>>;
  // What a worker says of a step's variables, before it runs it.
  struct Account {
    bool has_new = false;  // some that this group hasn't used before
    uint64_t writes = 0;   // since they were the same; to new ones, since they were made
  };
  Account account_of(const Functions& functions) const;
  // Whether workers that say so must take() the variables' values; whether some may be lost by that
  // which a program has set.
  static bool may_differ(const std::vector<Account>& by_worker);
  static bool may_lose(const std::vector<Account>& by_worker);

  // A worker's part of a group.
  struct Member {
    std::string strategy;
    int64_t worker = 0;
    // CollectiveGroup's, by worker.
    std::function<std::vector<std::string>(std::string_view what, const std::string& own)> exchange;
  };
  // All take the values of the first worker that has had them in an earlier group, if there is one,
  // else of worker 0. `warns`: where a worker has had others. FailedPrecondition where the
  // variables are other ones.
  void take(const Functions& functions, const Member& member, bool warns);
  // Nothing is known to be the same any more.
  void begin_group();

 private:
  std::unordered_map<uint64_t, uint64_t> versions_;  // with which they were the same, by number
  std::unordered_set<uint64_t> earlier_;             // those of earlier groups
};

}  // namespace cornu::distribute
