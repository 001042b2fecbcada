// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/stream_pool.h"

#include <algorithm>
#include <chrono>
#include <system_error>

#include "framework/core/threads.h"

namespace cornu::data {

StreamPool::~StreamPool() {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  queued_.notify_all();
  for (std::thread& thread : running_) thread.join();
}

void StreamPool::begin(Work& work) {
  std::lock_guard lock(mutex_);
  queue(work, false);
}

bool StreamPool::take(Work& work, Work::Made& made) {
  std::unique_lock lock(mutex_);
  if (work.ready.empty() && !work.ended) {
    if (tuned_) tuned_->waited(idle_ == 0);
    if (!work.running) queue(work, true);
    wanted_ = &work;
    made_.wait(lock, [&] { return !work.ready.empty() || work.ended; });
    wanted_ = nullptr;
  }
  if (work.ready.empty()) return false;
  made = std::move(work.ready.front());
  work.ready.pop_front();
  if (!work.running && !work.queued) queue(work, false);
  return true;
}

void StreamPool::drop(Work& work) {
  std::unique_lock lock(mutex_);
  work.dropped = true;
  std::erase(queue_, &work);
  made_.wait(lock, [&] { return !work.running; });
}

// Called with the lock held. `first`: somebody waits for it.
void StreamPool::queue(Work& work, bool first) {
  if (work.ended) return;
  if (work.queued && first) std::erase(queue_, &work);
  if (first) {
    queue_.push_front(&work);
  } else if (!work.queued) {
    queue_.push_back(&work);
  }
  work.queued = true;
  if (idle_ < queue_.size() && running_.size() < most()) {
    try {
      running_.emplace_back([this] { run(); });
    } catch (const std::system_error& error) {  // fewer threads work as well
      check<ResourceExhausted>(!running_.empty(), "interleave: no thread can be started: {}.",
                               error.what());
    }
  }
  queued_.notify_one();
}

void StreamPool::run() {
  // OpenMP is disabled on data threads: starting a team for one costs milliseconds.
  const ComputeThreadsScope one(1);
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    queued_.wait(lock, [this] { return stopped_ || !queue_.empty(); });
    --idle_;
    if (stopped_) return;
    Work& work = *queue_.front();
    queue_.pop_front();
    work.queued = false;
    work.running = true;
    while (!stopped_ && !work.dropped && !work.ended && work.ready.size() < work.room) {
      lock.unlock();
      Work::Made made;
      bool more = true;
      try {
        more = work.input->next(made.element);
      } catch (...) {
        made.error = std::current_exception();
      }
      if (more) made.position = streams::KeptPosition::of(*work.input);
      lock.lock();
      work.ended = !more;
      if (more) work.ready.push_back(std::move(made));
      if (wanted_ == &work) made_.notify_all();
    }
    work.running = false;
    if (work.dropped) made_.notify_all();
  }
}

namespace {

class PooledStream : public Stream<Element> {
 public:
  PooledStream(StreamPtr<Element> input, size_t buffer_size, StreamPool& pool)
      : pool_(pool), work_(std::make_unique<StreamPool::Work>(std::move(input), buffer_size)) {}

  ~PooledStream() override {
    if (!begun_) return;
    if (pool_.is_ours()) {
      pool_.drop(*work_);
    } else {  // what a thread of another process holds can't be released
      static_cast<void>(work_.release());
    }
  }

  bool next(Element& element) override {
    if (!begun_ && pool_.is_at_rest()) return next_here(element);
    begin();
    StreamPool::Work::Made made;
    if (!pool_.take(*work_, made)) return false;
    position_ = std::move(made.position);
    if (made.error) std::rethrow_exception(made.error);
    element = std::move(made.element);
    return true;
  }
  void leave_out(int64_t count, int64_t& left_out) override {
    if (begun_) return Stream::leave_out(count, left_out);
    work_->input->leave_out(count, left_out);
  }

  // The position after the elements that were taken, not after those that were computed.
  Json save() const override { return begun_ ? position_.get() : work_->input->save(); }
  void restore(const Json& state) override { work_->input->restore(state); }

 private:
  bool next_here(Element& element) {
    const auto start = std::chrono::steady_clock::now();
    const bool more = work_->input->next(element);
    pool_.took((std::chrono::steady_clock::now() - start) / std::chrono::nanoseconds(1));
    return more;
  }

  void begin() {
    if (begun_) return;
    position_ = streams::KeptPosition::of(*work_->input);
    pool_.begin(*work_);
    begun_ = true;
  }

  StreamPool& pool_;
  std::unique_ptr<StreamPool::Work> work_;
  streams::KeptPosition position_;
  bool begun_ = false;
};

}  // namespace

StreamPtr<Element> make_pooled_stream(StreamPtr<Element> input, int64_t buffer_size,
                                      StreamPool& pool) {
  return std::make_unique<PooledStream>(std::move(input), static_cast<size_t>(buffer_size), pool);
}

}  // namespace cornu::data
