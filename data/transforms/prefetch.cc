// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "data/iteration.h"
#include "data/serialization/links.h"
#include "data/transforms/transforms.h"
#include "framework/core/logging.h"
#include "framework/core/threads.h"
#include "framework/core/waiting_threads.h"

namespace cornu::data {
namespace {

// The size of a buffer, fixed or autotuned.
struct Room {
  int64_t given = 0;
  std::optional<TunedBuffer> tuned = {};
  std::shared_ptr<MemoryBudget> memory = {};  // null if memory isn't limited
  Stage* stage = nullptr;                     // null if nothing is measured

  Room(int64_t asked_for, const Pass& pass) : given(asked_for), stage(pass.stage) {
    if (pass.iteration) memory = pass.iteration->memory;
    if (asked_for != kAutotune) return;
    given = TunedBuffer::kFirst;
    if (!pass.iteration || pass.iteration->options.autotune.enabled) tuned.emplace();
  }

  int64_t size() const { return tuned ? tuned->size() : given; }
  // Whether there is room for one more than `count`.
  bool has_place(int64_t count) const {
    if (tuned && memory && count > 0 && !memory->has_room()) return false;
    return count < size();
  }
  void asked(int64_t count, int64_t bytes) {
    if (stage) stage->count_buffer(count, size());
    if (tuned) tuned->asked(count, !memory || memory->has_room(size() * bytes));
  }
};

// Waking a thread takes longer than computing a small element. If the buffer is large enough, a
// waiting thread is woken for this many elements at a time, or for fewer if those take longer than
// kPatience.
constexpr int64_t kWorthWaking = 32;
constexpr std::chrono::microseconds kPatience(50);

// Spinning for an element that arrives within kPatience saves waking the thread. When it doesn't
// arrive, because cores are busy or elements take long, spinning is suspended for a number of waits
// that doubles each time.
class SpinPolicy {
 public:
  bool should_spin() {
    if (left_ == 0) return true;
    --left_;
    return false;
  }
  void tell(bool has_come) {
    pause_ = has_come ? 0 : std::min(2 * pause_ + 1, kLongestPause);
    left_ = pause_;
  }

 private:
  static constexpr int kLongestPause = 127;  // in waits
  int pause_ = 0;
  int left_ = 0;
};

// Runs a stream on a thread, ahead of its consumer. It has its own thread rather than one of the
// pool's: the stream may block for long, in a generator or a file, which would keep the pool from
// computing.
class Producer {
 public:
  Producer(Input<Element>& input, Room room)
      : input_(input),
        position_(streams::KeptPosition::of(input)),
        room_(std::move(room)),
        thread_([this] { produce(); }) {}

  ~Producer() {
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    has_room_.notify_all();
    thread_.join();
    for (const Made& made : ready_) count_bytes(-made.bytes);
  }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  // Whether the thread was started by this process, as opposed to a parent that forked it.
  bool is_ours() const { return process_ == getpid(); }

  bool take(Element& element) {
    Made made;
    {
      std::unique_lock lock(mutex_);
      room_.asked(std::ssize(ready_), last_bytes_);
      if (ready_.empty() && !ended_) wait_for_some(lock);
      if (ready_.empty() && failed_) std::rethrow_exception(failed_);
      if (ready_.empty()) return false;
      made = std::move(ready_.front());
      position_ = std::move(made.position);
      ready_.pop_front();
      count_bytes(-made.bytes);
      if (full_ && std::ssize(ready_) <= room_.size() - at_a_time()) has_room_.notify_one();
    }
    if (made.error) std::rethrow_exception(made.error);
    element = std::move(made.element);
    return true;
  }

  // The position after the elements that were taken, not after those that were computed.
  Json position() const { return position_.get(); }

 private:
  struct Made {
    Element element = {};
    std::exception_ptr error = {};        // thrown instead of the element
    streams::KeptPosition position = {};  // after the element
    int64_t bytes = 0;
  };

  // The number of elements for which a thread is woken.
  int64_t at_a_time() const { return std::clamp<int64_t>(room_.size() / 2, 1, kWorthWaking); }

  void wait_for_some(std::unique_lock<std::mutex>& lock) {
    const StageTimer timer(room_.stage, StageTimer::Kind::Starved);
    wanted_ = at_a_time();
    const auto are_there = [this] { return std::ssize(ready_) >= wanted_ || ended_; };
    if (wanted_ == 1 && spins_.should_spin()) spin_for_one(lock);
    if (wanted_ == 1 || !has_some_.wait_for(lock, kPatience, are_there)) {
      wanted_ = 1;
      has_some_.wait(lock, are_there);
    }
    wanted_ = 0;
  }

  void spin_for_one(std::unique_lock<std::mutex>& lock) {
    const int64_t before = changes_;
    wanted_ = 0;  // no wake-up needed
    lock.unlock();
    const bool has_come = spin_until(
        2, [&] { return changes_ != before; }, kPatience);
    lock.lock();
    wanted_ = 1;
    spins_.tell(has_come);
  }

  void produce() {
    // OpenMP is disabled on data threads: starting a team for one costs milliseconds.
    const ComputeThreadsScope one(1);
    std::exception_ptr failed;
    try {
      while (wait_for_room()) {
        Made made;
        if (!make(made)) break;
        give(std::move(made));
      }
    } catch (...) {  // no memory for what goes with an element
      failed = std::current_exception();
    }
    {
      std::lock_guard lock(mutex_);
      failed_ = failed;
      ended_ = true;
      ++changes_;
    }
    has_some_.notify_all();
  }

  bool make(Made& made) {
    const StageTimer timer(room_.stage, StageTimer::Kind::Work);
    try {
      if (!input_.next(made.element)) return false;
    } catch (...) {
      made.error = std::current_exception();
    }
    made.position = streams::KeptPosition::of(input_);
    return true;
  }

  void count_bytes(int64_t bytes) const {
    if (room_.memory) room_.memory->add(bytes);
  }

  bool wait_for_room() {
    const StageTimer timer(room_.stage, StageTimer::Kind::Ahead);
    std::unique_lock lock(mutex_);
    const auto has_place = [this] { return stopped_ || room_.has_place(std::ssize(ready_)); };
    if (!has_place()) {
      full_ = true;
      has_room_.wait(lock, has_place);
      full_ = false;
    }
    return !stopped_;
  }

  void give(Made made) {
    if (room_.memory) made.bytes = bytes_of(made.element);
    {
      std::lock_guard lock(mutex_);
      count_bytes(made.bytes);
      last_bytes_ = made.bytes;
      ready_.push_back(std::move(made));
      ++changes_;
      if (wanted_ > 0 && std::ssize(ready_) >= wanted_) has_some_.notify_one();
    }
  }

  Input<Element>& input_;
  streams::KeptPosition position_;  // used by the consumer
  const pid_t process_ = getpid();
  std::mutex mutex_;
  std::condition_variable has_room_;
  std::condition_variable has_some_;
  Room room_;  // guarded by mutex_, like all below
  std::deque<Made> ready_;
  int64_t last_bytes_ = 0;     // size of the element computed last
  std::exception_ptr failed_;  // why the thread ended early
  bool ended_ = false;
  bool stopped_ = false;
  bool full_ = false;                 // the thread waits for room
  int64_t wanted_ = 0;                // the consumer sleeps until this many are ready
  std::atomic<int64_t> changes_ = 0;  // elements computed, and the end; read without the mutex
  SpinPolicy spins_;
  std::thread thread_;  // last, since it uses the other members
};

// Runs its input on a thread, which starts with the first next() and ends with the stream; without
// a buffer, on the calling thread.
class PrefetchStream : public Stream<Element> {
 public:
  PrefetchStream(StreamPtr<Element> input, int64_t buffer_size, const Pass& pass)
      : input_(std::make_unique<Input<Element>>(std::move(input))), room_(buffer_size, pass) {}

  ~PrefetchStream() override {
    if (!producer_ || producer_->is_ours()) return;
    // A thread that doesn't exist in this process can't be ended, and what it holds can't be
    // released.
    static_cast<void>(producer_.release());
    static_cast<void>(input_.release());
  }

  bool next(Element& element) override {
    if (room_.size() == 0) return input_->next(element);
    if (!producer_) begin();
    if (!producer_) return input_->next(element);
    check<FailedPrecondition>(producer_->is_ours(),
                              "prefetch: this iteration was begun before the process forked, and "
                              "its thread is the parent's. Begin a new one in the child.");
    return producer_->take(element);
  }

  void leave_out(int64_t count, int64_t& left_out) override {
    if (producer_) return Stream::leave_out(count, left_out);
    input_->leave_out(count, left_out);
  }

  Json save() const override { return producer_ ? producer_->position() : input_->save(); }
  void restore(const Json& state) override { input_->restore(state); }

 private:
  void begin() {
    try {
      producer_ = std::make_unique<Producer>(*input_, room_);
    } catch (const std::system_error& error) {
      logging::warn(
          fmt::format("prefetch: elements are made when they are asked for, since no thread can be "
                      "started: {}.",
                      error.what()));
      room_ = Room(0, {});
    }
  }

  std::unique_ptr<Input<Element>> input_;
  Room room_;
  std::unique_ptr<Producer> producer_;
};

// Row indices need no prefetching and pass through, so rows from which nothing was computed aren't
// prefetched, either.
class Prefetched : public ItemTransform<Prefetched> {
 public:
  Prefetched(NodePtr input, int64_t buffer_size)
      : ItemTransform(std::move(input)), buffer_size_(buffer_size) {
    check<InvalidArgument>(
        buffer_size >= 0 || buffer_size == kAutotune,
        "prefetch: expected a buffer_size of at least 0, or data::kAutotune, got {}.", buffer_size);
  }

  int64_t buffer_size() const { return buffer_size_; }

  bool works_on_parts() const override { return true; }
  bool takes_any_order() const override { return true; }
  // Omits the size, which may change without affecting the elements.
  std::string describe() const override { return "prefetch"; }
  void write(LinkWriter& link) const override {
    link.kind("prefetch").hint("buffer_size", buffer_size_);
  }

  template <class Item>
  StreamPtr<Item> open(Pass pass) const {
    auto items = open_input<Item>(pass);
    if constexpr (std::is_same_v<Item, Element>) {
      if (!pass.sample) {
        return std::make_unique<PrefetchStream>(std::move(items), buffer_size_, pass);
      }
    }
    return items;
  }

 private:
  int64_t buffer_size_;
};

}  // namespace

NodePtr below_prefetch(NodePtr input, const std::function<NodePtr(NodePtr)>& make) {
  const auto* prefetched = dynamic_cast<const Prefetched*>(input.get());
  if (!prefetched) return make(std::move(input));
  return make_prefetch(make(prefetched->inputs().front()), prefetched->buffer_size());
}

NodePtr make_prefetch(NodePtr input, int64_t buffer_size) {
  return std::make_shared<Prefetched>(std::move(input), buffer_size);
}

NodePtr read_prefetch(LinkReader& link) {
  return make_prefetch(link.input(), link.get<int64_t>("buffer_size"));
}

}  // namespace cornu::data
