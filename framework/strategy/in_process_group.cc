// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/in_process_group.h"

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>

#include "framework/core/error.h"

namespace cornu {
namespace {

// Where the ranks meet: each posts its pointers, and all wait for each other.
class Meeting {
 public:
  explicit Meeting(int size) : in(static_cast<size_t>(size)), size_(size) {}

  void wait() {
    std::unique_lock lock(mutex_);
    throw_if_aborted();
    const uint64_t round = round_;
    if (++arrived_ == size_) {
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
      return;
    }
    changed_.wait(lock, [&] { return round_ != round || !aborted_.empty(); });
    if (round_ == round) throw_if_aborted();
  }

  void abort(const char* why) {
    std::lock_guard lock(mutex_);
    if (aborted_.empty()) aborted_ = why;
    changed_.notify_all();
  }

  int size() const { return size_; }
  std::vector<const void*> in;  // by rank; written before wait(), read after it

 private:
  void throw_if_aborted() const {
    check<Unavailable>(aborted_.empty(), "Collective: another replica has stopped: {}", aborted_);
  }

  int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  uint64_t round_ = 0;
  std::string aborted_;
};

// NaN, from whichever rank, stays.
template <class T>
bool comes_first(T a, T b, ReduceOp op) {
  return a != a || (op == ReduceOp::Min ? a < b : b < a);
}

template <class T>
void reduce_into(T* out, const std::vector<const void*>& in, int64_t begin, int64_t end,
                 ReduceOp op) {
  for (int64_t i = begin; i < end; ++i) {
    T value = static_cast<const T*>(in[0])[i];
    for (size_t rank = 1; rank < in.size(); ++rank) {
      const T other = static_cast<const T*>(in[rank])[i];
      if (op == ReduceOp::Min || op == ReduceOp::Max) {
        if (comes_first(other, value, op)) value = other;
      } else {
        value = static_cast<T>(value + other);
      }
    }
    if (op == ReduceOp::Mean) value = static_cast<T>(value / static_cast<T>(in.size()));
    out[i - begin] = value;
  }
}

class InProcessGroup : public CollectiveGroup {
 public:
  InProcessGroup(std::shared_ptr<Meeting> meeting, int rank)
      : meeting_(std::move(meeting)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return meeting_->size(); }

  void all_reduce(const void* in, void* out, int64_t count, DType dtype, ReduceOp op) override {
    // Everyone reads all inputs before anybody may overwrite one (in and out may be the same).
    const size_t bytes = static_cast<size_t>(count) * size_of(dtype);
    std::vector<std::byte> result(bytes);
    post(in);
    reduce(result.data(), 0, count, dtype, op);
    meeting_->wait();
    if (bytes > 0) std::memcpy(out, result.data(), bytes);
  }

  void reduce_scatter(const void* in, void* out, int64_t count_per_rank, DType dtype,
                      ReduceOp op) override {
    post(in);
    reduce(out, rank_ * count_per_rank, (rank_ + 1) * count_per_rank, dtype, op);
    meeting_->wait();
  }

  void all_gather(const void* in, void* out, size_t bytes_per_rank) override {
    post(in);
    for (size_t rank = 0; rank < meeting_->in.size() && bytes_per_rank > 0; ++rank) {
      std::memcpy(static_cast<std::byte*>(out) + rank * bytes_per_rank, meeting_->in[rank],
                  bytes_per_rank);
    }
    meeting_->wait();
  }

  void broadcast(void* data, size_t bytes, int root) override {
    post(data);
    if (rank_ != root && bytes > 0) {
      std::memcpy(data, meeting_->in[static_cast<size_t>(root)], bytes);
    }
    meeting_->wait();
  }

  void barrier() override { meeting_->wait(); }
  void abort(const char* why) override { meeting_->abort(why); }

 private:
  void post(const void* in) {
    meeting_->in[static_cast<size_t>(rank_)] = in;
    meeting_->wait();
  }

  void reduce(void* out, int64_t begin, int64_t end, DType dtype, ReduceOp op) {
    dispatch_dtype(dtype, [&](auto t) {
      using T = decltype(t);
      if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
        raise<Unimplemented>("Collective: no reduction of {} between replicas of one process.",
                             dtype);
      } else if constexpr (std::is_same_v<T, bool>) {
        raise<Unimplemented>("Collective: no reduction of bool. Cast it to int32.");
      } else {
        reduce_into(static_cast<T*>(out), meeting_->in, begin, end, op);
      }
    });
  }

  std::shared_ptr<Meeting> meeting_;
  int rank_;
};

}  // namespace

std::vector<std::unique_ptr<CollectiveGroup>> make_in_process_group(int size) {
  auto meeting = std::make_shared<Meeting>(size);
  std::vector<std::unique_ptr<CollectiveGroup>> group;
  for (int rank = 0; rank < size; ++rank) {
    group.push_back(std::make_unique<InProcessGroup>(meeting, rank));
  }
  return group;
}

}  // namespace cornu
