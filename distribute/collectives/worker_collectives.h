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

// Replicas of a process first meet in its memory; one of them stands for all among the processes.
// Replica i of worker w has rank w · replicas + i. What is started is done by a thread of its own,
// or by the one that waits for it where that comes first.
class WorkerCollectives : public ProcessGroup {
 public:
  // At least two workers, with equally many replicas each.
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

  // By local replica; each is for one thread at a time. They share this object.
  static std::vector<std::unique_ptr<CollectiveGroup>> ends(
      const std::shared_ptr<WorkerCollectives>& group);

  // Between steps: what each worker gives, by worker. `what` is compared as collectives are, and so
  // is how many calls of their own have failed (note_failure): who goes on behind one that the
  // others make doesn't meet them in another.
  std::vector<std::string> exchange(std::string_view what, const std::string& own) override;
  // The same for few bytes of one size, in one go.
  std::vector<std::byte> exchange_bytes(std::span<const std::byte> own);

  void on_end(Told told) override;
  // As Transport::abort.
  void abort(std::exception_ptr why) override;
  // Another worker takes part in so many calls of this group and no more: those that need it fail,
  // now and later, while what it has done its part of is completed.
  void end_after(int64_t calls, std::exception_ptr why);
  // A step that has failed before it called anything: after so many calls of the group, and which
  // one of those that failed there, from 1 on.
  struct Failure {
    int64_t after = 0;
    int64_t number = 1;
  };
  // One of this worker's.
  Failure note_failure();
  // How many of those there were.
  uint32_t own_failures();
  // One of another worker's, by `why`: the next call fails, unless this worker's step has failed or
  // fails there, too, or all have gone on since.
  void end_by_failure(const Failure& theirs, std::exception_ptr why);
  // How many calls between processes have begun; it may outlive the group.
  std::shared_ptr<const std::atomic<int64_t>> calls() const { return begun_; }
  bool has_ended();
  // None where it hasn't ended so.
  std::optional<PeerLost> lost_peer();

 private:
  class End;
  struct Round {
    std::vector<CollectiveCall> calls;  // by replica
    int started = 0;
  };
  enum class Wake { Yes, No };

  // A call that this worker's replicas don't take part in.
  template <class Call>
  void call_between_steps(const Call& call);
  std::vector<std::string> exchange_texts(const std::string& own);
  int64_t start(int replica, CollectiveCall call, Wake wake);
  void await(int replica, int64_t ticket);
  void end_step();
  std::byte* memory(int replica, size_t bytes);

  void work();
  // Whether the next call can be made now: all replicas have started it, and nobody works.
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
  // Between processes that share memory a collective is work for the cores that compute: it is done
  // where it is awaited.
  const bool in_background_;
  const std::unique_ptr<Collectives> collectives_;  // for whoever has set working_
  const int replicas_;
  std::mutex mutex_;  // guards all that follows
  std::condition_variable for_work_;
  std::condition_variable for_others_;
  std::deque<Round> rounds_;      // from ticket done_ on
  std::vector<int64_t> started_;  // by replica: the ticket it takes next
  int64_t done_ = 0;
  bool working_ = false;
  const std::shared_ptr<std::atomic<int64_t>> begun_ = std::make_shared<std::atomic<int64_t>>(0);
  std::optional<int64_t> last_;  // how many calls others take part in
  std::exception_ptr why_last_;
  std::map<int64_t, int64_t> own_failures_;                       // how many after so many calls
  std::vector<std::pair<Failure, std::exception_ptr>> failures_;  // of others
  int ended_ = 0;  // replicas that are done with this step
  std::exception_ptr failed_;
  ProcessGroup::Ending how_ = ProcessGroup::Ending::Gone;  // it has failed
  Told told_;                                              // may be null
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace cornu::distribute
