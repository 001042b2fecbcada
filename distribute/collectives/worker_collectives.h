// SPDX-License-Identifier: Apache-2.0
// Collectives of this process's replicas with those of other processes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "distribute/collectives/collectives.h"
#include "distribute/collectives/transport.h"
#include "framework/core/error.h"
#include "framework/graph/communicator.h"
#include "framework/graph/process_group.h"
#include "framework/strategy/collective_calls.h"

namespace cornu::distribute {

// The replicas of a process are first combined in its memory; one of them then represents all of
// them among the processes. Replica i of worker w has rank w · replicas + i. A started collective
// is executed by a background thread, or by the thread that waits for it if that comes first.
class WorkerCollectives : public ProcessGroup {
 public:
  // Requires at least two workers, with the same number of replicas each.
  WorkerCollectives(std::unique_ptr<Transport> transport, int replicas,
                    const Communication& communication = ring_communication(),
                    const CollectivesOptions& options = {});
  ~WorkerCollectives() override;
  WorkerCollectives(const WorkerCollectives&) = delete;
  WorkerCollectives& operator=(const WorkerCollectives&) = delete;

  int process() const override { return transport_->rank(); }
  int processes() const override { return transport_->size(); }
  int worker() const { return transport_->rank(); }
  int workers() const { return transport_->size(); }
  int replicas() const { return replicas_; }

  // By local replica; each end may be used by one thread at a time. The ends share this object.
  static std::vector<std::unique_ptr<CollectiveGroup>> ends(
      const std::shared_ptr<WorkerCollectives>& group);

  // Exchanges a text with every worker, between steps; returns the texts by worker. `what` is
  // compared like collectives are, and so is the number of the workers' own failed calls
  // (note_failure): a worker that continues after a call which the others have yet to make mustn't
  // meet them in a different one.
  std::vector<std::string> exchange(std::string_view what, const std::string& own) override;
  // The same for a few bytes of a fixed size, in a single exchange.
  std::vector<std::byte> exchange_bytes(std::span<const std::byte> own);

  void on_end(Told told) override;
  // Same as Transport::abort.
  void abort(std::exception_ptr why) override;
  // Another worker takes part in this many calls of this group and no more: later calls fail, while
  // those that it has done its part of are completed.
  void end_after(int64_t calls, std::exception_ptr why);
  // A step that failed before it issued any call: the number of the group's calls before it, and
  // its number among the failures after the same call, starting at 1.
  struct Failure {
    int64_t after = 0;
    int64_t number = 1;
  };
  // Records a failure of this worker.
  Failure note_failure();
  // The number of this worker's recorded failures.
  uint32_t own_failures();
  // Reports a failure of another worker, with error `why`: the next call fails, unless this
  // worker's step has failed or fails at the same point, or all have continued since.
  void end_by_failure(const Failure& theirs, std::exception_ptr why);
  // The number of calls between processes that have begun; may outlive the group.
  std::shared_ptr<const std::atomic<int64_t>> calls() const { return begun_; }
  bool has_ended();
  // nullopt when the group hasn't ended with PeerLost.
  std::optional<PeerLost> lost_peer();

 private:
  class End;
  struct Round {
    std::vector<CollectiveCall> calls;  // by replica
    int started = 0;
  };
  enum class Wake { Yes, No };

  // A call in which this worker's replicas don't take part.
  template <class Call>
  void call_between_steps(const Call& call);
  std::vector<std::string> exchange_texts(const std::string& own);
  int64_t start(int replica, CollectiveCall call, Wake wake);
  void await(int replica, int64_t ticket);
  void end_step();
  std::byte* memory(int replica, size_t bytes);

  void work();
  // Whether the next call can be executed now: all replicas have started it, and no thread is
  // working.
  bool can_work() const;
  void work_on_next(std::unique_lock<std::mutex>& lock);
  bool begin_call();
  bool is_own(const Failure& failure) const;
  std::exception_ptr why_not_next() const;
  void execute(const Round& round);
  void all_reduce(const Round& round);
  void reduce_scatter(const Round& round);
  void all_gather(const Round& round);
  void broadcast(const Round& round);
  void require_agreement(const Round& round) const;
  void fail(std::exception_ptr why, ProcessGroup::Ending end);

  std::unique_ptr<Transport> transport_;
  // Between processes that share memory, executing a collective takes the cores that compute, so it
  // is done by the thread that awaits it.
  const bool in_background_;
  const std::unique_ptr<Collectives> collectives_;  // used by the thread that has set working_
  const int replicas_;
  std::mutex mutex_;  // guards all members below
  std::condition_variable for_work_;
  std::condition_variable for_others_;
  std::deque<Round> rounds_;      // starting at ticket done_
  std::vector<int64_t> started_;  // by replica: its next ticket
  int64_t done_ = 0;
  bool working_ = false;
  const std::shared_ptr<std::atomic<int64_t>> begun_ = std::make_shared<std::atomic<int64_t>>(0);
  std::optional<int64_t> last_;  // how many calls the other workers take part in
  std::exception_ptr why_last_;
  std::map<int64_t, int64_t>
      own_failures_;  // number of failures by the number of calls before them
  std::vector<std::pair<Failure, std::exception_ptr>> failures_;  // of other workers
  int ended_ = 0;  // replicas that are done with this step
  std::exception_ptr failed_;
  ProcessGroup::Ending how_ = ProcessGroup::Ending::Gone;  // how it has failed
  Told told_;                                              // may be null
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace cornu::distribute
