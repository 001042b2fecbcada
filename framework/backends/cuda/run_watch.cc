// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/run_watch.h"

#include <algorithm>
#include <utility>

#include "framework/core/error.h"
#include "framework/core/exception_text.h"

namespace cornu::cuda {
namespace {

constexpr std::chrono::milliseconds kInterval{100};

// A GPU that has failed is never done.
bool is_done(Runtime& runtime, const RuntimeEvent& event) {
  try {
    return runtime.is_done(event);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

// Marks runs before their GPUs are released: a run that isn't done by then may never have been.
// Later runs, perhaps on other GPUs, are marked with it, so that anything that depends on both can
// go by the last one.
void RunWatch::State::end(const std::exception_ptr& reason, ProcessGroup::Ending ending) {
  const std::lock_guard lock(mutex);
  if (!why) why = reason;
  if (ending == ProcessGroup::Ending::Gone && !std::exchange(lets_go, true)) {
    take_done();
    for (const Run& run : std::exchange(runs, {})) run.outcome->stop(why);
    calls.clear();
  }
  changed.notify_all();
}

void RunWatch::State::take_done() {
  while (!runs.empty() && is_done(runtime, *runs.front().done)) runs.pop_front();
  for (auto& [rank, list] : calls) {
    while (!list.empty() && is_done(runtime, *list.front().done)) list.pop_front();
  }
}

bool RunWatch::State::is_idle() const {
  return runs.empty() &&
         std::ranges::all_of(calls, [](const auto& one) { return one.second.empty(); });
}

RunWatch::RunWatch(Runtime& runtime, std::vector<DeviceCollectives*> links,
                   const std::shared_ptr<ProcessGroup>& processes,
                   std::chrono::milliseconds timeout, std::chrono::milliseconds patience)
    : links_(std::move(links)),
      processes_(processes),
      timeout_(timeout),
      patience_(patience),
      state_(std::make_shared<State>(runtime)) {
  processes->on_end(
      [weak = std::weak_ptr(state_)](const std::exception_ptr& why, ProcessGroup::Ending ending) {
        if (const auto living = weak.lock()) living->end(why, ending);
      });
  thread_ = std::thread([this] { work(); });
}

RunWatch::~RunWatch() { let_go(); }

bool RunWatch::let_go() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(state_->mutex);
      state_->take_done();
      state_->spares_links = state_->is_idle() && !state_->why;
    }
    state_->end(
        std::make_exception_ptr(Aborted("Communication between the GPUs of processes was stopped: "
                                        "the strategy that it belongs to is gone.")),
        ProcessGroup::Ending::Gone);
    thread_.join();
  }
  return !state_->spares_links;
}

std::shared_ptr<const StoppedRun> RunWatch::follow(std::shared_ptr<RuntimeEvent> done) {
  const std::lock_guard lock(state_->mutex);
  auto outcome =
      std::make_shared<StoppedRun>();  // created under the lock, so that numbers are in this order
  if (state_->lets_go) {
    outcome->stop(state_->why);
    return outcome;
  }
  state_->runs.push_back({std::move(done), outcome});
  return outcome;
}

void RunWatch::follow_call(int rank, std::shared_ptr<RuntimeEvent> reached,
                           std::shared_ptr<RuntimeEvent> done) {
  const std::lock_guard lock(state_->mutex);
  if (!state_->lets_go) state_->calls[rank].push_back({std::move(reached), std::move(done)});
}

std::exception_ptr RunWatch::why_ended() {
  const std::lock_guard lock(state_->mutex);
  return state_->why;
}

void RunWatch::throw_cause(const std::exception_ptr& seen) {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_for(lock, patience_, [&] { return state_->why != nullptr; });
  rethrow_copy(state_->why ? state_->why : seen);
}

void RunWatch::work() {
  std::exception_ptr seen;
  Clock::time_point seen_at;
  std::unique_lock lock(state_->mutex);
  while (true) {
    state_->changed.wait_for(lock, kInterval, [&] { return state_->lets_go; });
    if (state_->lets_go) break;
    state_->take_done();
    std::exception_ptr bad = overdue();
    lock.unlock();
    if (!seen && (seen = fault())) seen_at = Clock::now();
    if (!bad && seen && Clock::now() - seen_at > patience_) bad = seen;
    if (bad) {
      if (const auto processes = processes_.lock()) processes->abort(bad);
      state_->end(bad, ProcessGroup::Ending::Gone);  // in case the group had already ended
    }
    lock.lock();
  }
  if (state_->spares_links) return;
  lock.unlock();
  for (DeviceCollectives* link : links_) link->abort();
}

// An error that the library reports for one of the links; null: none.
std::exception_ptr RunWatch::fault() const {
  try {
    for (DeviceCollectives* link : links_) link->check_state();
    return nullptr;
  } catch (const std::exception&) {
    return std::current_exception();
  }
}

// Called with the state's lock held, for incomplete calls.
std::exception_ptr RunWatch::overdue() {
  for (auto& [rank, calls] : state_->calls) {
    if (calls.empty() || !is_done(state_->runtime, *calls.front().reached)) continue;
    const Clock::time_point now = Clock::now();
    if (!calls.front().since) calls.front().since = now;
    if (now - *calls.front().since >= timeout_) {
      return std::make_exception_ptr(DeadlineExceeded(fmt::format(
          "Collective on GPUs: the GPU of rank {} has waited {:g} s for those of other processes. "
          "CommunicationOptions' timeout_seconds says how long to wait.",
          rank, std::chrono::duration<double>(timeout_).count())));
    }
  }
  return nullptr;
}

}  // namespace cornu::cuda
