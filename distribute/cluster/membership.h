// SPDX-License-Identifier: Apache-2.0
// A worker's end of its session with the coordinator.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "distribute/cluster/session.h"
#include "framework/core/error.h"

namespace cornu::distribute {

// Thrown when it is known from outside the job that all workers have left at the end of their
// programs: a restarted worker has nothing left to do.
class JobOver : public FailedPrecondition {
 public:
  using FailedPrecondition::FailedPrecondition;
};

struct MembershipOptions {
  int rank = 0;
  std::vector<std::string> addresses;  // of the workers, by rank
  std::string token;
  Json facts = Json::object();  // what must be the same for all workers, by name
  std::chrono::milliseconds lost_after = std::chrono::seconds(10);
  bool over_tls = false;  // used in error messages
  // Whether all workers have left a group at the end of their programs. Only called in a process's
  // first join.
  std::function<bool()> job_is_over = [] { return false; };
  // Opens a session with worker 0, which is at this address.
  std::function<std::shared_ptr<Session>(const std::string& address, Session::Listener)> connect;
  // See ClusterOptions.
  std::function<std::vector<std::string>()> renew = {};
  std::chrono::milliseconds renew_after = std::chrono::seconds(5);
  std::optional<std::chrono::milliseconds> join_timeout = {};
  // How often a worker that waits for worker 0 logs that it is waiting.
  std::chrono::milliseconds say_after = std::chrono::seconds(5);
  // Same as the function for an Address.
  std::function<std::string(const std::string& address)> why_unresolved = {};
};

// What a group's members are told when the group forms.
struct GroupOffer {
  int64_t generation = 0;
  std::string key;                     // of its connections
  std::vector<Json> inboxes;           // by rank
  std::vector<std::string> addresses;  // of the workers, as currently known
};

// Keeps a session with the coordinator, sends heartbeats on its own thread, and reports when the
// group has ended. A process that was suspended for longer than lost_after is fenced: the others
// have continued without it, and it can't come back. Thread-safe.
class Membership {
 public:
  explicit Membership(MembershipOptions options);
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  // Joins, and waits for all other workers, indefinitely or until the join_timeout; logs every few
  // seconds which ones it is waiting for. `lost`: the rank whose loss, as seen by this worker,
  // ended its last group. Throws FailedPrecondition when the coordinator rejects it or the workers'
  // facts differ; JobOver; Aborted when it is fenced; DeadlineExceeded, after which it may join
  // again. `since`: when the wait limited by join_timeout began.
  GroupOffer join(const Json& inbox, std::optional<int> lost,
                  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now());
  // Stops waiting and records why this worker's group, if any, has ended. Ends the session: the
  // others form no group with this worker unless it joins again.
  void withdraw(std::exception_ptr why);
  // Announces that this worker is ready, and waits for the start. Returns whether all workers share
  // memory; nullopt when the group has ended already.
  std::optional<bool> start(int64_t generation, bool shares_memory);

  // Whether this group has started and not yet ended.
  bool is_in_group(int64_t generation);

  // What ends the group, either immediately or `after` that many calls of the group: PeerLost, or
  // Aborted when another worker's program has failed. A worker that has left takes part in `after`
  // calls and no more (FailedPrecondition). A worker whose step failed before it issued any call
  // doesn't take part in the next call (the error of that step); `failure` is then the number of
  // that failure among those after the same number of calls, starting at 1, and the group continues
  // if this worker's step fails as well.
  struct Ending {
    std::exception_ptr why = {};
    std::optional<int64_t> after = {};
    int64_t failure = 0;
  };
  // Handles an Ending, before this worker leaves the group. Called immediately if the ending has
  // already happened, otherwise from another thread; never called again once another function is
  // set.
  using Tell = std::function<void(Ending ending)>;
  void on_group_end(Tell tell);
  // Announces that this worker's step failed before it issued any call, after that many calls (see
  // Ending). The others get the same error, prefixed with this worker's name and `before`.
  void tell_of_failure(const std::exception& error, const std::string& before, int64_t after,
                       int64_t failure);
  // Announces that this worker's program has failed. Waits briefly until the others have heard of
  // it: the process may exit right away, and they would otherwise consider it lost.
  void stop(const std::string& why);
  // Announces that this worker's program no longer needs the others after that many calls of its
  // group, and waits until all workers have said so. Returns null then, and also when this worker
  // has stopped; otherwise returns why the group ended early (PeerLost, Aborted, or the argument of
  // withdraw()). `note_end` is called when null is returned. By the time leave() returns, the
  // `note_end` of every live worker has returned, unless this worker has stopped or worker 0 has
  // died meanwhile.
  std::exception_ptr leave(int64_t calls, const std::function<void()>& note_end);

  // Sets the step that PeerLost names.
  void set_step(int64_t step) { step_ = step; }

 private:
  void watch();
  void on_message(uint64_t session, const Json& message);
  void on_challenge(const Json& message);
  void on_session_end(uint64_t session, const std::string& why);
  void on_members(const Json& message);
  void on_left(const Json& message);
  void on_failed(const Json& message);
  void add_ending(Ending ending);
  void end_group(std::exception_ptr why);
  void connect(std::unique_lock<std::mutex>& lock);
  void renew_addresses(std::unique_lock<std::mutex>& lock);
  std::string why_not_connected() const;
  std::string why_unresolved(std::unique_lock<std::mutex>& lock) const;
  void say_that_it_waits(std::unique_lock<std::mutex>& lock);
  void give_up(std::unique_lock<std::mutex>& lock);
  const std::string& coordinator() const { return addresses_.front(); }
  std::string own_name() const;

  // Lets session callbacks through while this object is alive.
  struct Gate {
    explicit Gate(Membership* membership) : open(membership) {}
    std::mutex mutex;
    Membership* open;
  };

  const MembershipOptions options_;
  const std::shared_ptr<Gate> gate_;
  std::atomic<int64_t> step_ = 0;
  std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;
  std::vector<std::string> addresses_;  // as currently known
  std::shared_ptr<Session> session_;
  uint64_t sessions_ = 0;  // number of the latest session
  uint64_t ended_session_ = 0;
  std::string why_ended_;  // why the last session ended
  std::string nonce_;
  bool admitted_ =
      false;  // the coordinator knows the token, and this worker has proved that it does
  std::vector<std::string> missing_;  // workers that worker 0 is also waiting for
  Json join_;                         // its join message while it waits for the others; else null
  std::optional<GroupOffer> offer_;
  int64_t generation_ = 0;
  std::optional<bool> started_;
  bool in_group_ = false;
  std::exception_ptr ended_;     // why the last group ended
  bool has_stopped_ = false;     // this worker's program has failed
  bool all_heard_ = false;       // all others know that this worker has stopped
  std::exception_ptr refused_;   // rejected for good
  std::vector<Ending> endings_;  // pending endings of the group
  Tell tell_;
  bool leaves_ = false;
  bool bye_ = false;   // all have left
  bool over_ = false;  // all have left and recorded it
  bool stops_ = false;
  std::chrono::steady_clock::time_point heard_;
  std::chrono::steady_clock::time_point next_attempt_;
  std::optional<std::chrono::steady_clock::time_point> busy_since_;
  std::thread thread_;
};

}  // namespace cornu::distribute
