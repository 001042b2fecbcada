// SPDX-License-Identifier: Apache-2.0
// What a run of a compiled step holds of the variables it reads and writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "framework/core/variable.h"

namespace cornu {

// Gives one run the values that its variables have at one moment, and those that it writes for
// itself alone: others that want to read or write them wait for its end. Requests are served in the
// order in which they came, each for all its variables at once, so that none starves and none
// blocks another for ever. Readers don't hold up writers: memory that is still read is copied
// before it is written. Copies of a variable for replicas (Variable::of_replicas) that aren't up to
// date with it are brought to the value that it has then, if it is among the variables, too.
//
//   VariableAccess access;
//   access.add(w, true);
//   access.acquire();   // waits
//   … access.memory(0) …
class VariableAccess {
 public:
  VariableAccess() = default;
  ~VariableAccess();
  VariableAccess(const VariableAccess&) = delete;
  VariableAccess& operator=(const VariableAccess&) = delete;

  void reserve(size_t count) { uses_.reserve(count); }
  // Before acquire(). The same variable may be added more than once: a reader keeps the
  // value from before, beside a writer. It must outlive this.
  void add(const Variable& variable, bool writes);
  void acquire();

  // FailedPrecondition when the index-th variable was poisoned as it was acquired.
  void require_healthy(size_t index) const;
  // The value of the index-th variable in the memory of `device`; writable where that was asked
  // for. FailedPrecondition when it was poisoned, or lives elsewhere.
  std::byte* memory(size_t index, const Device& device = {}) const;
  // For devices whose runs make new arrays: the value of the index-th variable, on `device`, and
  // what it becomes where it was added to be written. As above.
  const Tensor& current(size_t index, const Device& device) const;
  void replace(size_t index, const Tensor& value) const;
  // The value of the index-th variable, which was added to be read. As above when it is poisoned.
  const Tensor& value(size_t index) const;
  // The version of that value (Variable::version()).
  uint64_t version(size_t index) const { return uses_[index].version; }
  // Whether the index-th variable is a copy that had to be brought up to date.
  bool was_stale(size_t index) const { return uses_[index].stale; }

  // Marks the variable's value as spoilt, as Variable::poison does, where `spoilt` says so of what
  // it has by now, or somebody is writing it. Not what a replica has that isn't up to date: its
  // next run doesn't begin with that.
  static void poison_where(const Variable& variable,
                           const std::function<bool(const Tensor& value)>& spoilt,
                           const std::string& why);

 private:
  struct Use {
    const Variable* variable = nullptr;
    bool writes = false;
    bool held = false;       // until the end: somebody here writes it
    bool again = false;      // added before: the first entry waits for it
    bool stale = false;      // a copy that is behind
    bool elsewhere = false;  // another process keeps it
    uint32_t ticket = 0;
    uint64_t version = 0;
    Use* original = nullptr;  // the use of what it is a copy of
    Tensor value;             // of one that is only read
    std::string poisoned;     // why it has no value, where it has none
  };
  bool is_served() const;
  void fetch();
  void look_at(Use& use) const;
  static void bring_up_to_date(Use& use);
  void require_usable(size_t index, const Device& device) const;

  std::vector<Use> uses_;
  bool acquired_ = false;
};

}  // namespace cornu
