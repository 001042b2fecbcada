// SPDX-License-Identifier: Apache-2.0
// The first worker's service to all workers: tracks who is present and forms their groups.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "distribute/cluster/refusals.h"
#include "distribute/cluster/session.h"

namespace cornu::distribute {

struct CoordinatorOptions {
  std::vector<std::string> addresses;  // of the workers, by rank
  std::string token;
  // A worker that sends nothing for this long is considered lost.
  std::chrono::milliseconds lost_after = std::chrono::seconds(10);
  std::shared_ptr<Refusals> refusals = std::make_shared<Refusals>();
};

// Each worker holds one session (the messages are described in docs/cluster/protocol.md). When all
// workers have joined, with identical facts about their programs, they are told about each other;
// when all are ready, they start as a group, whose generation number is larger than that of any
// group before. When a worker is lost, the others are notified, and the next group waits until all
// have joined again. Thread-safe.
class Coordinator : public std::enable_shared_from_this<Coordinator> {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Coordinator(CoordinatorOptions options);

  Session::Listener accept(const std::shared_ptr<Session>& session);
  // Sends heartbeats and detects silent workers. Call it about twice a second.
  void tick(Time now);
  // If all workers have left: waits until all of them know, which ends their sessions.
  void see_off(std::chrono::milliseconds at_most);

 private:
  struct Guest;  // a session
  enum class Phase { Gathering, Forming, Running, Over };
  struct Member {
    std::shared_ptr<Guest> guest;
    Json join;  // its last join message; null when it has to join (again)
    bool ready = false;
    bool shares_memory = false;
    bool left = false;
  };

  void on_message(const std::shared_ptr<Guest>& guest, const Json& message);
  void on_hello(Guest& guest, const Json& message);
  void on_join(const std::shared_ptr<Guest>& guest, const Json& message);
  void on_ready(const Guest& guest, const Json& message);
  void on_stopped(const Guest& guest, const Json& message);
  void on_heard(int rank);
  void on_leave(const Guest& guest, const Json& message);
  void on_noted(int rank);
  void on_failed(const Guest& guest, const Json& message);
  void on_end(const std::shared_ptr<Guest>& guest, const std::string& why);
  void lose(Guest& guest, const std::string& why);

  bool let_in(const std::shared_ptr<Guest>& guest, const Json& message);
  void admit(const std::shared_ptr<Guest>& guest, const Json& message);
  void refuse(Guest& guest, const std::string& kind, const std::string& why);
  std::string difference(const Json& join) const;
  void end_group(const Json& message, int but);
  void form_if_complete();
  void send_to_all(const Json& message, int but = -1);
  std::set<int> present() const;
  Member& member_of(const Guest& guest);
  std::string name_of(int rank) const;

  const CoordinatorOptions options_;
  std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;
  Phase phase_ = Phase::Gathering;
  int64_t generation_ = 0;
  std::vector<std::string> addresses_;  // the workers' current addresses, as given when they joined
  std::vector<Member> members_;         // by rank
  std::optional<int> stopped_;          // rank to notify once all others know that it has stopped
  std::set<int> unheard_;               // ranks that don't know yet
  std::set<int> unnoted_;               // ranks that haven't yet recorded that all have left
  std::vector<std::weak_ptr<Guest>> guests_;
  Time told_who_is_missing_;
};

}  // namespace cornu::distribute
