// SPDX-License-Identifier: Apache-2.0
// A worker's membership in a job: from its address to a group that it can reduce with.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "distribute/cluster/coordinator.h"
#include "distribute/cluster/membership.h"
#include "distribute/cluster/task_server.h"
#include "distribute/collectives/shared_memory.h"
#include "distribute/collectives/worker_collectives.h"

namespace cornu::distribute {

struct ClusterOptions {
  int rank = 0;
  std::vector<std::string> addresses;  // host:port of the workers, by rank; at least two
  int replicas = 1;                    // per worker
  Json facts = Json::object();         // what must be the same for all workers, by name
  Communication communication = ring_communication();
  CollectivesOptions collectives = {};
  // How long a collective may wait for a worker that is alive.
  std::chrono::milliseconds timeout = kCollectiveTimeout;
  // A worker that sends no heartbeat for this long is considered lost.
  std::chrono::milliseconds lost_after = std::chrono::seconds(10);
  // See MembershipOptions.
  std::function<bool()> job_is_over = [] { return false; };
  // Whether tasks on other machines are trusted without a job token.
  bool insecure = false;
  // This task's TLS identity; null: communicate without TLS.
  std::shared_ptr<const TlsIdentity> identity = nullptr;
  // Whether workers on the same machine exchange tensors through shared memory instead of TCP,
  // which is always used between machines. All workers use shared memory or none does, so one
  // worker that can't have any disables it for all.
  bool share_memory = true;
  // Looks up the workers' addresses again when worker 0 doesn't answer. Must return either none or
  // as many addresses as there are workers.
  std::function<std::vector<std::string>()> renew = {};
  std::chrono::milliseconds renew_after = std::chrono::seconds(5);
  // How long form() waits for all workers; nullopt: forever.
  std::optional<std::chrono::milliseconds> join_timeout = {};
};

// Listens on the worker's address; the first worker is the coordinator. Groups of all workers are
// formed one after another: when a group has ended with PeerLost, form() waits for the lost worker
// to come back and starts the next group.
class Cluster {
 public:
  // Throws InvalidArgument for invalid addresses, and FailedPrecondition when the port is taken, or
  // when there are other machines but neither a token nor an identity and `insecure` is false.
  explicit Cluster(ClusterOptions options);
  // Leaves the cluster unless leave() has done so; when an exception is terminating this worker's
  // program, notifies the other workers of that instead.
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  int rank() const { return options_.rank; }
  int size() const { return static_cast<int>(options_.addresses.size()); }
  bool is_over_tls() const { return options_.identity != nullptr; }

  // Waits for all workers, and for a connection to each worker that this one communicates with.
  // `lost`: the worker that the last group lost. Throws the same errors as Membership::join.
  std::shared_ptr<WorkerCollectives> form(std::optional<int> lost = {});
  // Announces that this worker's program no longer needs the others, and waits until all workers
  // have said so. Returns null then; otherwise, when some workers haven't reached the end of their
  // programs, what ended the group early. Only the destructor may be called afterwards. `note_end`:
  // see Membership::leave.
  std::exception_ptr leave(const std::function<void()>& note_end = [] {});
  // Announces that this worker's program has failed, which ends the other workers' groups too.
  void stop(const std::string& why);
  // Announces that this worker's step failed before it issued any call. Workers whose step depends
  // on it get the same error, prefixed with this worker's name and `before`, unless their own step
  // fails there as well.
  void tell_of_failure(const std::exception& error, const std::string& before);
  // Sets the step that PeerLost names.
  void set_step(int64_t step);

 private:
  std::unique_ptr<Transport> sockets(const GroupOffer& offer, const GroupMembers& members,
                                     std::optional<int>& lost);
  FileDescriptor link(int peer, const GroupOffer& offer, const Patience& patience);
  void require_time(std::chrono::steady_clock::time_point began, int lost) const;
  std::shared_ptr<Inbox> make_inbox();
  std::vector<std::shared_ptr<Inbox>> open_inboxes(const GroupOffer& offer) const;
  void say_that_sockets_serve(const std::string& why);
  std::vector<int> peers() const { return options_.communication.peers(rank(), size()); }
  void tick();

  ClusterOptions options_;
  const std::string token_;
  std::shared_ptr<std::atomic<int64_t>> step_ = std::make_shared<std::atomic<int64_t>>(0);
  std::shared_ptr<Coordinator> coordinator_;  // on the first worker only
  std::unique_ptr<TaskServer> server_;
  std::unique_ptr<Membership> membership_;
  std::shared_ptr<Inbox> inbox_;  // null when there is no shared memory
  bool has_said_sockets_ = false;
  std::vector<std::unique_ptr<TlsLink>> tls_links_;    // of the current group, if it uses sockets
  std::shared_ptr<const std::atomic<int64_t>> calls_;  // of the current group
  std::weak_ptr<WorkerCollectives> group_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  const int exceptions_ = std::uncaught_exceptions();
  bool stops_ = false;
  std::thread ticker_;
};

}  // namespace cornu::distribute
