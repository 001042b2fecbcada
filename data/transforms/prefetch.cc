// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "data/transforms/prefetch_stream.h"
#include "data/transforms/transforms.h"
#include "framework/core/threads.h"

namespace cornu::data {
namespace {

constexpr int64_t kAutomaticBuffer = 2;

// Runs a stream on a thread, ahead of its consumer.
class Producer {
 public:
  Producer(Input<Element>& input, size_t buffer_size)
      : input_(input),
        buffer_size_(buffer_size),
        position_(input.save()),
        thread_([this] { produce(); }) {}

  ~Producer() {
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  // Was the thread started by this very process, not by one that forked it?
  bool is_ours() const { return process_ == getpid(); }

  bool take(Element& element) {
    std::exception_ptr error;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !ready_.empty() || ended_; });
      if (ready_.empty()) return false;
      Made& made = ready_.front();
      error = std::move(made.error);
      element = std::move(made.element);
      position_ = std::move(made.position);
      ready_.pop_front();
    }
    changed_.notify_all();
    if (error) std::rethrow_exception(error);
    return true;
  }

  // After what was taken, not after what has been made.
  const Json& position() const { return position_; }

 private:
  struct Made {
    Element element = {};
    std::exception_ptr error = {};  // in its place
    Json position = {};             // after it
  };

  void produce() {
    // Data threads stay out of OpenMP: starting a team for one costs milliseconds.
    const ComputeThreadsScope one(1);
    while (wait_for_room()) {
      Made made;
      try {
        if (!input_.next(made.element)) break;
      } catch (...) {
        made.error = std::current_exception();
      }
      made.position = input_.save();
      give(std::move(made));
    }
    {
      std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
  }

  bool wait_for_room() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopped_ || ready_.size() < buffer_size_; });
    return !stopped_;
  }

  void give(Made made) {
    {
      std::lock_guard lock(mutex_);
      ready_.push_back(std::move(made));
    }
    changed_.notify_all();
  }

  Input<Element>& input_;
  size_t buffer_size_;
  Json position_;  // the consumer's
  const pid_t process_ = getpid();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Made> ready_;  // guarded by mutex_, as all below
  bool ended_ = false;
  bool stopped_ = false;
  std::thread thread_;  // last: it uses the others
};

// Runs its input on a thread, which starts with the first next() and ends with the stream; without
// a buffer, on the thread that calls.
class PrefetchStream : public Stream<Element> {
 public:
  PrefetchStream(StreamPtr<Element> input, int64_t buffer_size)
      : input_(std::make_unique<Input<Element>>(std::move(input))),
        buffer_size_(static_cast<size_t>(buffer_size)) {}

  ~PrefetchStream() override {
    if (!producer_ || producer_->is_ours()) return;
    // A thread that isn't there can't be ended, and what it holds can't be let go of.
    static_cast<void>(producer_.release());
    static_cast<void>(input_.release());
  }

  bool next(Element& element) override {
    if (buffer_size_ == 0) return input_->next(element);
    if (!producer_) producer_ = std::make_unique<Producer>(*input_, buffer_size_);
    check<FailedPrecondition>(producer_->is_ours(),
                              "prefetch: this iteration was begun before the process forked, and "
                              "its thread is the parent's. Begin a new one in the child.");
    return producer_->take(element);
  }

  int64_t skip(int64_t count) override {
    return producer_ ? Stream::skip(count) : input_->skip(count);
  }

  Json save() const override { return producer_ ? producer_->position() : input_->save(); }
  void restore(const Json& state) override { input_->restore(state); }

 private:
  std::unique_ptr<Input<Element>> input_;
  size_t buffer_size_;
  std::unique_ptr<Producer> producer_;
};

// Row numbers need no thread: they pass through, and so do rows that nothing was computed from.
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
  // Not the size: it may change without changing what comes.
  std::string describe() const override { return "prefetch"; }

  template <class Item>
  StreamPtr<Item> open(Pass pass) const {
    auto items = open_input<Item>(pass);
    if constexpr (std::is_same_v<Item, Element>) {
      const int64_t size = buffer_size_ == kAutotune ? kAutomaticBuffer : buffer_size_;
      return std::make_unique<PrefetchStream>(std::move(items), size);
    } else {
      return items;
    }
  }

 private:
  int64_t buffer_size_;
};

}  // namespace

StreamPtr<Element> make_prefetch_stream(StreamPtr<Element> input, int64_t buffer_size) {
  return std::make_unique<PrefetchStream>(std::move(input), buffer_size);
}

NodePtr below_prefetch(NodePtr input, const std::function<NodePtr(NodePtr)>& make) {
  const auto* prefetched = dynamic_cast<const Prefetched*>(input.get());
  if (!prefetched) return make(std::move(input));
  return make_prefetch(make(prefetched->inputs().front()), prefetched->buffer_size());
}

NodePtr make_prefetch(NodePtr input, int64_t buffer_size) {
  return std::make_shared<Prefetched>(std::move(input), buffer_size);
}

}  // namespace cornu::data
