// SPDX-License-Identifier: Apache-2.0
// The interfaces between a backend and a group of processes whose devices communicate by their own
// means.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/graph/communicator.h"

namespace cornu {

// The processes of a group, each with the same number of replicas; replicas are numbered process by
// process.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  virtual int process() const = 0;  // the index of this process
  virtual int processes() const = 0;

  // Exchanges a string with all processes; returns them by process. All processes call it in the
  // same order, between their collectives; `what` is compared. Throws the error that ends the
  // group.
  virtual std::vector<std::string> exchange(std::string_view what, const std::string& own) = 0;
  // How the group has ended. Completing: other processes make no further calls, but complete those
  // that they have begun with this one. Gone: some processes are gone.
  enum class Ending { Completing, Gone };
  // Sets a callback that is called from any thread with the error that has ended the group:
  // immediately if it has already ended, and again if processes that were completing are gone. It
  // must return immediately, and must not call the group. Only the last callback set is called.
  using Told = std::function<void(const std::exception_ptr& why, Ending ending)>;
  virtual void on_end(Told told) = 0;
  // Ends the group for all processes because some are gone.
  virtual void abort(std::exception_ptr why) = 0;
};

// Devices of several processes that communicate by their own means, for the lifetime of the group.
class GroupConnection {
 public:
  virtual ~GroupConnection() = default;
  // The ends of the group for a step, by replica of this process; they reduce data on its devices
  // through the connection.
  virtual std::vector<std::unique_ptr<CollectiveGroup>> over(
      std::vector<std::unique_ptr<CollectiveGroup>> ends) = 0;
  // Blocks until all work that this process's devices have been given for the group is done or
  // stopped; once every process has called this, none depends on another. Throws the error that
  // ended the group: work that was stopped has then poisoned the variables that it writes, and none
  // of it will run later.
  virtual void settle() = 0;
};

}  // namespace cornu
