// SPDX-License-Identifier: Apache-2.0
// A compiled step's access to the variables it reads and writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "framework/core/variable.h"

namespace cornu {

// Gives one run a consistent snapshot of its variables, and exclusive access to those it writes:
// others that want to read or write them wait until it ends. Requests are served in order of
// arrival, each for all of its variables at once, so there is neither starvation nor deadlock.
// Readers don't block writers: memory that is still being read is copied before it is written.
// Replica copies of a variable (Variable::of_replicas) that aren't up to date are brought to its
// current value, if the variable itself is part of the request.
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
  // Call before acquire(). The same variable may be added more than once: a reader keeps the value
  // from before the write of a writer. The variable must outlive this.
  void add(const Variable& variable, bool writes);
  void acquire();

  // Throws FailedPrecondition if the index-th variable was poisoned when it was acquired.
  void require_healthy(size_t index) const;
  // The value of the index-th variable in the memory of `device`, writable if requested. Throws
  // FailedPrecondition if the variable was poisoned or resides on another device.
  std::byte* memory(size_t index, const Device& device = {}) const;
  // For devices whose runs create new arrays: the value of the index-th variable on `device`, and
  // the setter of its new value if it was added for writing. Throw as above.
  const Tensor& current(size_t index, const Device& device) const;
  void replace(size_t index, const Tensor& value) const;
  // The value of the index-th variable, which was added for reading. Throws as above if poisoned.
  const Tensor& value(size_t index) const;
  // The version of that value (Variable::version()).
  uint64_t version(size_t index) const { return uses_[index].version; }
  // Whether the index-th variable is a replica copy that had to be brought up to date.
  bool was_stale(size_t index) const { return uses_[index].stale; }

  // Marks the variable's value as corrupt, as Variable::poison does, when `spoilt` returns true for
  // its current value, or while someone is writing it. Does nothing for a replica copy that isn't
  // up to date, since its next run won't start from that value.
  static void poison_where(const Variable& variable,
                           const std::function<bool(const Tensor& value)>& spoilt,
                           const std::string& why);

 private:
  struct Use {
    const Variable* variable = nullptr;
    bool writes = false;
    bool held = false;       // until the end: an entry of this request writes it
    bool again = false;      // added before: the first entry holds the ticket
    bool stale = false;      // a replica copy that isn't up to date
    bool elsewhere = false;  // another process keeps it
    uint32_t ticket = 0;
    uint64_t version = 0;
    Use* original = nullptr;  // the use of the variable it is a copy of
    Tensor value;             // for variables that are only read
    std::string poisoned;     // why it has no valid value, if so
  };
  bool is_served() const;
  void fetch();
  void look_at(Use& use) const;
  static void bring_up_to_date(Use& use);
  void require_usable(size_t index, const Device& device) const;

  std::vector<Use> uses_;
  bool acquired_ = false;
};

// Variable::update while its function runs. This thread's other uses of the variable, which would
// wait for the update to end, throw FailedPrecondition.
class [[nodiscard]] RunningUpdate {
 public:
  explicit RunningUpdate(const Variable& variable);
  ~RunningUpdate();
  RunningUpdate(const RunningUpdate&) = delete;
  RunningUpdate& operator=(const RunningUpdate&) = delete;

  // Throws FailedPrecondition while this thread updates the variable.
  static void require_none(const Variable& variable);

 private:
  const Variable& variable_;
  const RunningUpdate* outer_;
};

}  // namespace cornu
