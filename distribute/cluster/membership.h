// SPDX-License-Identifier: Apache-2.0
// A worker's side of its session with the coordinator.
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

// All workers have left at the ends of their programs, as is known from outside of the job: one
// that was started again has nothing to do.
class JobOver : public FailedPrecondition {
 public:
  using FailedPrecondition::FailedPrecondition;
};

struct MembershipOptions {
  int rank = 0;
  std::vector<std::string> addresses;  // of the workers, by rank
  std::string token;
  Json facts = Json::object();  // what all workers must have alike, by name
  std::chrono::milliseconds lost_after = std::chrono::seconds(10);
  bool over_tls = false;  // for messages
  // Whether all workers have left a group at the end of their programs. Asked in a process's first
  // join only.
  std::function<bool()> job_is_over = [] { return false; };
  // Makes a session with worker 0, which is at this address.
  std::function<std::shared_ptr<Session>(const std::string& address, Session::Listener)> connect;
  // See ClusterOptions.
  std::function<std::vector<std::string>()> renew = {};
  std::chrono::milliseconds renew_after = std::chrono::seconds(5);
  std::optional<std::chrono::milliseconds> join_timeout = {};
  // How often a worker that waits for worker 0 says so.
  std::chrono::milliseconds say_after = std::chrono::seconds(5);
  // As of an Address.
  std::function<std::string(const std::string& address)> why_unresolved = {};
};

// What a group's members are told when it forms.
struct GroupOffer {
  int64_t generation = 0;
  std::string key;                     // of its connections
  std::vector<Json> inboxes;           // by rank
  std::vector<std::string> addresses;  // of the workers, as they know them
};

// Keeps a session with the coordinator, gives signs of life on a thread of its own, and says when
// the group has ended. A process that stood still for longer than lost_after finds itself fenced:
// the others have gone on without it, and it can't come back. Thread-safe.
class Membership {
 public:
  explicit Membership(MembershipOptions options);
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  // Joins, and waits for all the others, as long as it takes or the join_timeout says; says every
  // few seconds for whom. `lost`: the rank that this worker has missed, where that ended its last
  // group. Errors: FailedPrecondition where the coordinator turns it away, or workers' facts
  // differ; JobOver; Aborted when it is fenced; DeadlineExceeded, after which it may join anew.
  // `since`: when the wait has begun that the join_timeout ends.
  GroupOffer join(const Json& inbox, std::optional<int> lost,
                  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now());
  // This worker waits no longer, and says why its group, if any, has ended. Ends the session: the
  // others form no group with it, unless it joins anew.
  void withdraw(std::exception_ptr why);
  // Says that this worker is ready, and waits for the start. Whether all share memory; none when
  // the group has ended already.
  std::optional<bool> start(int64_t generation, bool shares_memory);

  // Whether this group has begun, and not ended.
  bool is_in_group(int64_t generation);

  // What ends the group: PeerLost, or Aborted where another worker's program has failed; at once,
  // or `after` so many calls of the group: a worker that has left it takes part in those and no
  // more (FailedPrecondition), and one whose step failed before it called anything has no part in
  // the next one (the error of that). `failure`: of the latter, which one after as many calls, from
  // 1 on; where this worker's fails as well, the group goes on.
  struct Ending {
    std::exception_ptr why = {};
    std::optional<int64_t> after = {};
    int64_t failure = 0;
  };
  // What to do with that, before this worker leaves the group. Called at once if it has happened,
  // else from another thread; nothing is, once it has been called with another function.
  using Tell = std::function<void(Ending ending)>;
  void on_group_end(Tell tell);
  // This worker's step has failed before it called anything, after so many calls (see Ending): the
  // others get the same error, behind this worker's name and `before`.
  void tell_of_failure(const std::exception& error, const std::string& before, int64_t after,
                       int64_t failure);
  // This worker's program has failed: the others are told so. Waits, not for long, until they have
  // heard it: the process may end at once, and they would take it for one that was lost.
  void stop(const std::string& why);
  // This worker's program needs the others no more, after so many calls of its group. Waits until
  // all have said so: none then, and where this worker has stopped; else why the group has ended
  // before (PeerLost, Aborted, or what withdraw() was given). `note_end` is called where there is
  // none. All that live have come back from theirs when this returns, unless this worker has
  // stopped, or worker 0 has died meanwhile.
  std::exception_ptr leave(int64_t calls, const std::function<void()>& note_end);

  // The step that PeerLost names.
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

  // Lets what comes from sessions in, as long as this object is there.
  struct Gate {
    explicit Gate(Membership* membership) : open(membership) {}
    std::mutex mutex;
    Membership* open;
  };

  const MembershipOptions options_;
  const std::shared_ptr<Gate> gate_;
  std::atomic<int64_t> step_ = 0;
  std::mutex mutex_;  // guards all that follows
  std::condition_variable changed_;
  std::vector<std::string> addresses_;  // as this worker knows them by now
  std::shared_ptr<Session> session_;
  uint64_t sessions_ = 0;  // their numbers
  uint64_t ended_session_ = 0;
  std::string why_ended_;  // the last session
  std::string nonce_;
  bool admitted_ = false;  // the coordinator knows the token, and this worker has shown it
  std::vector<std::string> missing_;  // whom worker 0 waits for, too
  Json join_;  // what it joins with, while it waits for the others; else null
  std::optional<GroupOffer> offer_;
  int64_t generation_ = 0;
  std::optional<bool> started_;
  bool in_group_ = false;
  std::exception_ptr ended_;     // why the last group did
  bool has_stopped_ = false;     // it was this worker's program
  bool all_heard_ = false;       // that it has
  std::exception_ptr refused_;   // for good
  std::vector<Ending> endings_;  // that are to come, of the group
  Tell tell_;
  bool leaves_ = false;
  bool bye_ = false;   // all have left
  bool over_ = false;  // and noted it
  bool stops_ = false;
  std::chrono::steady_clock::time_point heard_;
  std::chrono::steady_clock::time_point next_attempt_;
  std::optional<std::chrono::steady_clock::time_point> busy_since_;
  std::thread thread_;
};

}  // namespace cornu::distribute
