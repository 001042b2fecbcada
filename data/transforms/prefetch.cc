// SPDX-License-Identifier: Apache-2.0
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "cornu/core/threads.h"
#include "cornu/data/transforms/transforms.h"

namespace cornu::data {
namespace {

constexpr int64_t kAutomaticBuffer = 2;

// Runs its input on a thread, which starts with the first next() and ends with the stream.
class PrefetchStream : public Stream<Element> {
 public:
  PrefetchStream(StreamPtr<Element> input, int64_t buffer_size)
      : input_(std::move(input)), buffer_size_(static_cast<size_t>(buffer_size)) {}

  ~PrefetchStream() override {
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  bool next(Element& element) override {
    if (!thread_.joinable()) thread_ = std::thread([this] { produce(); });
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !ready_.empty() || ended_; });
      if (ready_.empty()) {
        if (error_) std::rethrow_exception(error_);
        return false;
      }
      element = std::move(ready_.front());
      ready_.pop_front();
    }
    changed_.notify_all();
    return true;
  }

  int64_t skip(int64_t count) override {
    return thread_.joinable() ? Stream::skip(count) : input_->skip(count);
  }

 private:
  void produce() {
    // Data threads stay out of OpenMP: starting a team for one costs milliseconds.
    const ComputeThreadsScope one(1);
    try {
      Element element;
      while (wait_for_room() && input_->next(element)) give(std::move(element));
    } catch (...) {
      std::lock_guard lock(mutex_);
      error_ = std::current_exception();
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

  void give(Element element) {
    {
      std::lock_guard lock(mutex_);
      ready_.push_back(std::move(element));
    }
    changed_.notify_all();
  }

  StreamPtr<Element> input_;
  size_t buffer_size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Element> ready_;  // guarded by mutex_, as all below
  bool ended_ = false;
  bool stopped_ = false;
  std::exception_ptr error_;
  std::thread thread_;
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

  // Not the size: it may change without changing what comes.
  std::string describe() const override { return "prefetch"; }

  template <class Item>
  StreamPtr<Item> open(Pass pass) const {
    auto items = open_input<Item>(pass);
    if constexpr (std::is_same_v<Item, Element>) {
      const int64_t size = buffer_size_ == kAutotune ? kAutomaticBuffer : buffer_size_;
      if (size > 0) return std::make_unique<PrefetchStream>(std::move(items), size);
    }
    return items;
  }

 private:
  int64_t buffer_size_;
};

}  // namespace

NodePtr make_prefetch(NodePtr input, int64_t buffer_size) {
  return std::make_shared<Prefetched>(std::move(input), buffer_size);
}

}  // namespace cornu::data
