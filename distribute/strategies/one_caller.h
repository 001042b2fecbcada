// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cornu::distribute {

// Restricts the calls that a worker makes with others to one thread: calls from several threads
// would be in a different order on each worker. A thread may take over from another one; the
// earlier one may call again once the threads that followed it have ended. Thread-safe.
class OneCaller {
 public:
  explicit OneCaller(std::string strategy) : strategy_(std::move(strategy)) {}

  // A call by this thread, for the lifetime of the object. Calls of one thread nest. Throws
  // FailedPrecondition when it is another thread's turn.
  class Call {
   public:
    explicit Call(OneCaller& caller) : caller_(caller) { caller_.begin(); }
    ~Call() { caller_.end(); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    OneCaller& caller_;
  };

  // From now on any thread may call.
  void reset();

 private:
  using Thread = std::weak_ptr<const int>;  // expires when the thread ends
  void begin();
  void end();

  const std::string strategy_;
  std::mutex mutex_;  // guards all members below
  int open_ = 0;      // number of nested calls
  Thread current_;
  std::vector<Thread> earlier_;
};

}  // namespace cornu::distribute
