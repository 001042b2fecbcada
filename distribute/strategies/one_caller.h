// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cornu::distribute {

// Keeps the calls that a worker makes with others to one thread: those of several threads would
// come in another order on each worker. A thread may follow another one; that one comes back when
// the threads that followed it have ended. Thread-safe.
class OneCaller {
 public:
  explicit OneCaller(std::string strategy) : strategy_(std::move(strategy)) {}

  // A call of this thread, until it goes. Those of one thread nest. FailedPrecondition where
  // another thread's turn it is.
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
  std::mutex mutex_;  // guards all that follows
  int open_ = 0;      // calls, each within the one before
  Thread current_;
  std::vector<Thread> earlier_;
};

}  // namespace cornu::distribute
