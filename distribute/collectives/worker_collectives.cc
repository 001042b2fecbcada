// SPDX-License-Identifier: Apache-2.0
#include "distribute/collectives/worker_collectives.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "framework/core/error.h"
#include "framework/core/exception_text.h"
#include "framework/strategy/reduce_elements.h"

namespace cornu::distribute {

using Kind = CollectiveCall::Kind;

// One replica's end.
class WorkerCollectives::End : public CollectiveGroup {
 public:
  End(std::shared_ptr<WorkerCollectives> group, int replica)
      : group_(std::move(group)), replica_(replica) {}

  int rank() const override { return group_->worker() * group_->replicas() + replica_; }
  int size() const override { return group_->workers() * group_->replicas(); }

  void all_reduce(std::span<const Segment> segments, DType dtype, ReduceOp op) override {
    call({Kind::AllReduce, {segments.begin(), segments.end()}, dtype, op, 0});
  }
  using CollectiveGroup::all_reduce;

  int64_t start_all_reduce(std::span<const Segment> segments, DType dtype, ReduceOp op) override {
    return group_->start(
        replica_, {Kind::AllReduce, {segments.begin(), segments.end()}, dtype, op, 0}, Wake::Yes);
  }
  void await(int64_t ticket) override { group_->await(replica_, ticket); }
  std::byte* memory(size_t bytes) override { return group_->memory(replica_, bytes); }

  void reduce_scatter(const void* in, void* out, int64_t count_per_rank, DType dtype,
                      ReduceOp op) override {
    call({Kind::ReduceScatter, {{in, out, count_per_rank * size()}}, dtype, op, 0});
  }
  void all_gather(const void* in, void* out, size_t bytes_per_rank) override {
    const auto bytes = static_cast<int64_t>(bytes_per_rank);
    call({Kind::AllGather, {{in, out, bytes}}, {}, ReduceOp::Sum, 0});
  }
  void broadcast(void* data, size_t bytes, int root) override {
    const auto count = static_cast<int64_t>(bytes);
    call({Kind::Broadcast, {{data, data, count}}, {}, ReduceOp::Sum, root});
  }
  void barrier() override { call({}); }

  void end_step() override { group_->end_step(); }
  void abort(const std::string& why) override {
    group_->abort(std::make_exception_ptr(
        Aborted(fmt::format("Collective: another replica has stopped: {}", why))));
  }

 private:
  void call(CollectiveCall made) { await(group_->start(replica_, std::move(made), Wake::No)); }

  std::shared_ptr<WorkerCollectives> group_;
  int replica_;
};

WorkerCollectives::WorkerCollectives(std::unique_ptr<Transport> transport, int replicas,
                                     const Communication& communication,
                                     const CollectivesOptions& options)
    : transport_(std::move(transport)),
      in_background_(!transport_->shares_memory()),
      collectives_(communication.make(*transport_, options)),
      replicas_(replicas),
      started_(static_cast<size_t>(replicas)),
      thread_([this] { work(); }) {
  CORNU_ASSERT(transport_->size(), >=, 2);
}

WorkerCollectives::~WorkerCollectives() {
  abort(std::make_exception_ptr(Aborted("Collective: its group has ended.")));
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  for_work_.notify_all();
  thread_.join();
}

std::vector<std::unique_ptr<CollectiveGroup>> WorkerCollectives::ends(
    const std::shared_ptr<WorkerCollectives>& group) {
  std::vector<std::unique_ptr<CollectiveGroup>> ends;
  for (int i = 0; i < group->replicas_; ++i) ends.push_back(std::make_unique<End>(group, i));
  return ends;
}

// ---- scheduling ----

bool WorkerCollectives::can_work() const {
  return !failed_ && !working_ && !rounds_.empty() && rounds_.front().started == replicas_;
}

int64_t WorkerCollectives::start(int replica, CollectiveCall call, Wake wake) {
  if (call.kind == Kind::AllReduce || call.kind == Kind::ReduceScatter) {
    require_reducible(*call.dtype);
  }
  const std::lock_guard lock(mutex_);
  if (failed_) rethrow_copy(failed_);
  const int64_t ticket = started_[static_cast<size_t>(replica)]++;
  const auto place = static_cast<size_t>(ticket - done_);
  if (place == rounds_.size()) {
    rounds_.emplace_back().calls.resize(static_cast<size_t>(replicas_));
  }
  Round& round = rounds_[place];
  round.calls[static_cast<size_t>(replica)] = std::move(call);
  if (++round.started == replicas_) {
    if (wake == Wake::Yes && in_background_) for_work_.notify_one();
    if (replicas_ > 1) for_others_.notify_all();
  }
  return ticket;
}

void WorkerCollectives::await(int replica, int64_t ticket) {
  std::unique_lock lock(mutex_);
  while (done_ <= ticket) {
    if (failed_) rethrow_copy(failed_);
    if (can_work()) {
      work_on_next(lock);
      continue;
    }
    const Round& round = rounds_.front();
    if (!working_ && round.started < replicas_ && ended_ > 0) {
      fail(std::make_exception_ptr(RanksDiffer(fmt::format(
               "Collective: every replica must make the same calls in the same order, but replica "
               "{} of this worker calls {}, and another one's step has ended without it.",
               replica, round.calls[static_cast<size_t>(replica)].text()))),
           ProcessGroup::Ending::Gone);
      continue;
    }
    for_others_.wait(lock);
  }
}

void WorkerCollectives::work() {
  std::unique_lock lock(mutex_);
  while (!stops_) {
    if (in_background_ && can_work()) {
      work_on_next(lock);
    } else {
      for_work_.wait(lock);
    }
  }
}

// Returns whether the call can be made; otherwise the group has failed.
bool WorkerCollectives::begin_call() {
  if (!failed_ && last_ && *begun_ >= *last_) fail(why_last_, ProcessGroup::Ending::Completing);
  if (const std::exception_ptr why = why_not_next()) fail(why, ProcessGroup::Ending::Completing);
  failures_.clear();
  if (failed_) return false;
  ++*begun_;
  working_ = true;
  return true;
}

void WorkerCollectives::work_on_next(std::unique_lock<std::mutex>& lock) {
  if (!begin_call()) return;
  const Round& round = rounds_.front();  // stays valid while others are appended
  lock.unlock();
  std::exception_ptr failed;
  try {
    execute(round);
  } catch (...) {
    failed = std::current_exception();
  }
  lock.lock();
  working_ = false;
  if (failed) {
    fail(std::move(failed), failed_ ? how_ : ProcessGroup::Ending::Gone);
  } else {
    rounds_.pop_front();
    ++done_;
  }
  for_others_.notify_all();
  if (in_background_ && can_work()) for_work_.notify_one();
}

// The first error wins.
void WorkerCollectives::fail(std::exception_ptr why, ProcessGroup::Ending end) {
  if (!failed_) {
    failed_ = std::move(why);
    how_ = end;
  } else if (end == ProcessGroup::Ending::Gone) {
    how_ = end;
  }
  transport_->abort(failed_);
  for_others_.notify_all();
  if (told_) told_(failed_, how_);
}

void WorkerCollectives::on_end(Told told) {
  const std::lock_guard lock(mutex_);
  told_ = std::move(told);
  if (failed_) told_(failed_, how_);
}

void WorkerCollectives::end_step() {
  const std::lock_guard lock(mutex_);
  if (++ended_ == replicas_) ended_ = 0;
  for_others_.notify_all();
}

// Only the first replica has memory: it is where the sums of all replicas are combined.
std::byte* WorkerCollectives::memory(int replica, size_t bytes) {
  if (replica != 0) return nullptr;
  const std::lock_guard lock(mutex_);
  if (failed_) rethrow_copy(failed_);
  CORNU_ASSERT(working_, ==, false);
  return transport_->memory(bytes);
}

// When it returns, the memory of calls is no longer in use.
void WorkerCollectives::abort(std::exception_ptr why) {
  std::unique_lock lock(mutex_);
  const std::exception_ptr before = why_not_next();
  fail(before ? before : std::move(why), ProcessGroup::Ending::Gone);
  for_others_.wait(lock, [&] { return !working_; });
}

void WorkerCollectives::end_after(int64_t calls, std::exception_ptr why) {
  const std::lock_guard lock(mutex_);
  if (last_ && *last_ <= calls) return;
  last_ = calls;
  why_last_ = std::move(why);
  if (working_ && *begun_ > calls) fail(why_last_, ProcessGroup::Ending::Completing);
}

bool WorkerCollectives::is_own(const Failure& failure) const {
  const auto own = own_failures_.find(failure.after);
  return own != own_failures_.end() && own->second >= failure.number;
}

// The error of another worker that can't take part in the next call; null if all can.
std::exception_ptr WorkerCollectives::why_not_next() const {
  const auto found =
      std::ranges::find_if_not(failures_, [&](const auto& one) { return is_own(one.first); });
  return found == failures_.end() ? nullptr : found->second;
}

WorkerCollectives::Failure WorkerCollectives::note_failure() {
  const std::lock_guard lock(mutex_);
  return {.after = *begun_, .number = ++own_failures_[*begun_]};
}

uint32_t WorkerCollectives::own_failures() {
  const std::lock_guard lock(mutex_);
  int64_t all = 0;
  for (const auto& [after, count] : own_failures_) all += count;
  return static_cast<uint32_t>(all);
}

void WorkerCollectives::end_by_failure(const Failure& theirs, std::exception_ptr why) {
  const std::lock_guard lock(mutex_);
  if (*begun_ == theirs.after) {
    failures_.emplace_back(theirs, std::move(why));
  } else if (working_ && *begun_ == theirs.after + 1 && !is_own(theirs)) {
    fail(std::move(why), ProcessGroup::Ending::Completing);
  }
}

bool WorkerCollectives::has_ended() {
  const std::lock_guard lock(mutex_);
  return failed_ != nullptr;
}

std::optional<PeerLost> WorkerCollectives::lost_peer() {
  const std::lock_guard lock(mutex_);
  try {
    if (failed_) rethrow_copy(failed_);
  } catch (const PeerLost& lost) {
    return lost;
  } catch (const std::exception&) {  // it has ended for another reason
  }
  return {};
}

// ---- execution ----

void WorkerCollectives::execute(const Round& round) {
  require_agreement(round);
  switch (round.calls[0].kind) {
    case Kind::AllReduce:
      return all_reduce(round);
    case Kind::ReduceScatter:
      return reduce_scatter(round);
    case Kind::AllGather:
      return all_gather(round);
    case Kind::Broadcast:
      return broadcast(round);
    case Kind::Barrier:
      return collectives_->barrier(round.calls[0]);
  }
}

void WorkerCollectives::require_agreement(const Round& round) const {
  for (size_t i = 1; i < round.calls.size(); ++i) {
    check<RanksDiffer>(round.calls[i].agrees(round.calls[0]),
                       "Collective: every replica must make the same calls in the same order, but "
                       "replica 0 of worker {} calls {}, and replica {} {}.",
                       worker(), round.calls[0].text(), i, round.calls[i].text());
  }
}

void WorkerCollectives::all_reduce(const Round& round) {
  const CollectiveCall& first = round.calls[0];
  const int64_t divisor = first.op == ReduceOp::Mean ? int64_t{workers()} * replicas_ : 1;
  if (replicas_ == 1) return collectives_->all_reduce(first, first.segments, divisor);
  const ReduceOp op = first.op == ReduceOp::Mean ? ReduceOp::Sum : first.op;
  std::vector<Segment> sums;
  for (size_t i = 0; i < first.segments.size(); ++i) {
    std::vector<const void*> in;
    for (const CollectiveCall& call : round.calls) in.push_back(call.segments[i].in);
    const Segment& own = first.segments[i];
    reduce_elements(own.out, in, 0, own.count, *first.dtype, op);
    sums.push_back({own.out, own.out, own.count});
  }
  collectives_->all_reduce(first, sums, divisor);
  for (size_t k = 1; k < round.calls.size(); ++k) {
    for (size_t i = 0; i < sums.size(); ++i) {
      const size_t bytes = static_cast<size_t>(sums[i].count) * size_of(*first.dtype);
      if (bytes > 0) std::memcpy(round.calls[k].segments[i].out, sums[i].in, bytes);
    }
  }
}

void WorkerCollectives::reduce_scatter(const Round& round) {
  const CollectiveCall& first = round.calls[0];
  const int64_t ranks = int64_t{workers()} * replicas_;
  const int64_t divisor = first.op == ReduceOp::Mean ? ranks : 1;
  const int64_t count = first.segments[0].count;
  const size_t per_rank = static_cast<size_t>(count / ranks) * size_of(*first.dtype);
  const ReduceOp op = first.op == ReduceOp::Mean ? ReduceOp::Sum : first.op;
  std::vector<const void*> in;
  for (const CollectiveCall& call : round.calls) in.push_back(call.segments[0].in);
  std::vector<std::byte> sums(static_cast<size_t>(count) * size_of(*first.dtype));
  reduce_elements(sums.data(), in, 0, count, *first.dtype, op);
  std::vector<std::byte> own(per_rank * static_cast<size_t>(replicas_));
  collectives_->reduce_scatter(first, sums.data(), own.data(), count / workers(), divisor);
  for (size_t k = 0; k < round.calls.size() && per_rank > 0; ++k) {
    std::memcpy(round.calls[k].segments[0].out, own.data() + k * per_rank, per_rank);
  }
}

void WorkerCollectives::all_gather(const Round& round) {
  const CollectiveCall& first = round.calls[0];
  const auto bytes = static_cast<size_t>(first.segments[0].count);
  std::vector<std::byte> own(bytes * round.calls.size());
  for (size_t k = 0; k < round.calls.size() && bytes > 0; ++k) {
    std::memcpy(own.data() + k * bytes, round.calls[k].segments[0].in, bytes);
  }
  void* result = first.segments[0].out;
  collectives_->all_gather(first, own.data(), result, own.size());
  for (size_t k = 1; k < round.calls.size() && bytes > 0; ++k) {
    std::memcpy(round.calls[k].segments[0].out, result,
                own.size() * static_cast<size_t>(workers()));
  }
}

void WorkerCollectives::broadcast(const Round& round) {
  const CollectiveCall& first = round.calls[0];
  const int root_worker = first.root / replicas_;
  const auto source = static_cast<size_t>(root_worker == worker() ? first.root % replicas_ : 0);
  const Segment& own = round.calls[source].segments[0];
  const auto bytes = static_cast<size_t>(own.count);
  collectives_->broadcast(first, own.out, bytes, root_worker);
  for (size_t k = 0; k < round.calls.size() && bytes > 0; ++k) {
    if (k != source) std::memcpy(round.calls[k].segments[0].out, own.out, bytes);
  }
}

// ---- between steps ----

template <class Call>
void WorkerCollectives::call_between_steps(const Call& call) {
  std::unique_lock lock(mutex_);
  if (failed_) rethrow_copy(failed_);
  CORNU_ASSERT(rounds_.size(), ==, size_t{0});
  if (!begin_call()) rethrow_copy(failed_);
  lock.unlock();
  std::exception_ptr failed;
  try {
    call();
  } catch (...) {
    failed = std::current_exception();
  }
  lock.lock();
  working_ = false;
  if (failed) fail(failed, failed_ ? how_ : ProcessGroup::Ending::Gone);
  for_others_.notify_all();
  if (failed_) rethrow_copy(failed_);
}

std::vector<std::byte> WorkerCollectives::exchange_bytes(std::span<const std::byte> own) {
  std::vector<std::byte> all(own.size() * static_cast<size_t>(workers()));
  call_between_steps([&] {
    const CollectiveCall call{
        Kind::AllGather, {{nullptr, nullptr, static_cast<int64_t>(own.size())}}, {}, {}, -1};
    collectives_->all_gather(call, own.data(), all.data(), own.size());
  });
  return all;
}

// In a single exchange if the texts have similar lengths, as its size is determined by the longest
// one; otherwise one after another.
std::vector<std::string> WorkerCollectives::exchange_texts(const std::string& own) {
  constexpr size_t kFew = size_t{64} << 10;
  const auto size = static_cast<uint64_t>(own.size());
  const std::vector<std::byte> sizes = exchange_bytes(std::as_bytes(std::span(&size, 1)));
  std::vector<uint64_t> by_worker(static_cast<size_t>(workers()));
  std::memcpy(by_worker.data(), sizes.data(), sizes.size());
  const uint64_t most = *std::ranges::max_element(by_worker);
  const uint64_t all = std::accumulate(by_worker.begin(), by_worker.end(), uint64_t{0});
  std::vector<std::string> result;
  if (most * by_worker.size() <= 2 * all + kFew) {
    std::string padded = own;
    padded.resize(most);
    const std::vector<std::byte> together = exchange_bytes(std::as_bytes(std::span(padded)));
    for (size_t i = 0; i < by_worker.size(); ++i) {
      result.emplace_back(reinterpret_cast<const char*>(together.data()) + i * most, by_worker[i]);
    }
    return result;
  }
  for (size_t i = 0; i < by_worker.size(); ++i) {
    const int root = static_cast<int>(i);
    std::string text = root == worker() ? own : std::string(by_worker[i], '\0');
    call_between_steps([&] {
      const CollectiveCall call{
          Kind::Broadcast, {{nullptr, nullptr, static_cast<int64_t>(text.size())}}, {}, {}, root};
      collectives_->broadcast(call, text.data(), text.size(), root);
    });
    result.push_back(std::move(text));
  }
  return result;
}

std::vector<std::string> WorkerCollectives::exchange(std::string_view what,
                                                     const std::string& own) {
  const uint32_t failures = own_failures();
  const std::string call =
      failures == 0 ? std::string(what)
                    : fmt::format("{} (behind {} of its own that failed)", what, failures);
  std::vector<std::string> result;
  for (std::string& text : exchange_texts(fmt::format("{}\n{}", call, own))) {
    const std::string_view theirs = text;
    const size_t line = std::min(theirs.find('\n'), theirs.size());
    check<RanksDiffer>(theirs.substr(0, line) == call,
                       "Collective: every worker must make the same calls in the same order, but "
                       "worker {} exchanges {}, and worker {} {}. The workers' programs or options "
                       "must differ, or one of them was restarted.",
                       result.size(), theirs.substr(0, line), worker(), call);
    text.erase(0, line + 1);
    result.push_back(std::move(text));
  }
  return result;
}

}  // namespace cornu::distribute
