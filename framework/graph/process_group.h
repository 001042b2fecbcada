// SPDX-License-Identifier: Apache-2.0
// What a backend needs to connect devices of several processes by their own means, and what it
// gives.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/graph/communicator.h"

namespace cornu {

// The processes of a group, equally many replicas of it on each: those of process p come behind
// those of the processes before it.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  virtual int process() const = 0;  // this one
  virtual int processes() const = 0;

  // What each process says, by process. All call it, in one order, between their collectives;
  // `what` is compared. Throws what ends the group.
  virtual std::vector<std::string> exchange(std::string_view what, const std::string& own) = 0;
  // How the group has ended: other processes call nothing more, but what they have begun with this
  // one they complete; or some are gone.
  enum class Ending { Completing, Gone };
  // Calls `told`, from any thread, with the error that has ended the group: at once where it has
  // ended, and again where what was completing is gone. It must return at once, and not call the
  // group. The last one that was given is called.
  using Told = std::function<void(const std::exception_ptr& why, Ending ending)>;
  virtual void on_end(Told told) = 0;
  // Ends the group, for all processes: some are gone.
  virtual void abort(std::exception_ptr why) = 0;
};

// Devices of several processes that communicate by their own means, for as long as the group lives.
class GroupConnection {
 public:
  virtual ~GroupConnection() = default;
  // The ends of the group for a step, by replica of this process: they reduce what lies on its
  // devices by the connection.
  virtual std::vector<std::unique_ptr<CollectiveGroup>> over(
      std::vector<std::unique_ptr<CollectiveGroup>> ends) = 0;
  // Returns when all that this process's devices have been given for the group is done, or stopped;
  // once every process has said so, none needs another one any more. Throws what has ended the
  // group: what was stopped then has poisoned the variables that it writes, and nothing of it comes
  // later.
  virtual void settle() = 0;
};

}  // namespace cornu
