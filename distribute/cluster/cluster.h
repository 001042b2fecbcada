// SPDX-License-Identifier: Apache-2.0
// A worker among the workers of a job: from its address to a group that it reduces with.
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
  int replicas = 1;                    // of each worker
  Json facts = Json::object();         // what all workers must have alike, by name
  Communication communication = ring_communication();
  CollectivesOptions collectives = {};
  // How long a collective may wait for a worker that lives.
  std::chrono::milliseconds timeout = kCollectiveTimeout;
  // Without a sign of life for so long a worker is lost.
  std::chrono::milliseconds lost_after = std::chrono::seconds(10);
  // See MembershipOptions.
  std::function<bool()> job_is_over = [] { return false; };
  // Whether tasks on other machines are trusted without a job token.
  bool insecure = false;
  // What this task shows the others; null: they speak without TLS.
  std::shared_ptr<const TlsIdentity> identity = nullptr;
  // Whether workers of one machine exchange tensors by memory that they share; by TCP otherwise, as
  // between machines. All workers share it, or none does: also where one of them can't have any.
  bool share_memory = true;
  // The workers' addresses asked for anew, when the first one doesn't answer: empty, or as many.
  std::function<std::vector<std::string>()> renew = {};
  std::chrono::milliseconds renew_after = std::chrono::seconds(5);
  // How long form() waits for all workers; none: as long as it takes.
  std::optional<std::chrono::milliseconds> join_timeout = {};
};

// Listens on its address; the first worker coordinates. Groups are formed of all workers, one after
// the other: when one has ended with PeerLost, form() waits for the worker that was lost, and the
// next one begins.
class Cluster {
 public:
  // InvalidArgument for addresses that are none; FailedPrecondition when the port is taken, or when
  // there are other machines, no token, no identity, and not `insecure`.
  explicit Cluster(ClusterOptions options);
  // Leaves it, where leave() hasn't; where an exception ends this worker's program, tells the
  // others so instead.
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  int rank() const { return options_.rank; }
  int size() const { return static_cast<int>(options_.addresses.size()); }
  bool is_over_tls() const { return options_.identity != nullptr; }

  // Waits for all workers, and for a connection with each that this one needs. `lost`: whom the
  // last group has lost. Errors as Membership::join.
  std::shared_ptr<WorkerCollectives> form(std::optional<int> lost = {});
  // This worker's program needs the others no more: waits until all have said so. None then, else
  // what has ended the group before: not all have come to the end of their programs. Nothing but
  // the destructor may be called afterwards. `note_end`: see Membership::leave.
  std::exception_ptr leave(const std::function<void()>& note_end = [] {});
  // This worker's program has failed: the others' groups end, too.
  void stop(const std::string& why);
  // This worker's step has failed before it called anything: those that need it for theirs get the
  // same error, behind this worker's name and `before`, unless their own fails there as well.
  void tell_of_failure(const std::exception& error, const std::string& before);
  // The step that PeerLost names.
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
  std::shared_ptr<Coordinator> coordinator_;  // the first worker's
  std::unique_ptr<TaskServer> server_;
  std::unique_ptr<Membership> membership_;
  std::shared_ptr<Inbox> inbox_;  // null where there is no memory to share
  bool has_said_sockets_ = false;
  std::vector<std::unique_ptr<TlsLink>> tls_links_;    // of the group, where it has connections
  std::shared_ptr<const std::atomic<int64_t>> calls_;  // of the group
  std::weak_ptr<WorkerCollectives> group_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  const int exceptions_ = std::uncaught_exceptions();
  bool stops_ = false;
  std::thread ticker_;
};

}  // namespace cornu::distribute
