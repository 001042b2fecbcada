// SPDX-License-Identifier: Apache-2.0
// Collects the statistics of a pass: each stage's streams are wrapped when they are opened
// (Node::stream), and each thread keeps a stack of timers, so that a stage's own work is separated
// from that of its inputs. A pass that isn't measured has no overhead.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "data/element.h"
#include "data/statistics.h"
#include "framework/strategy/streams.h"

namespace cornu::data {

class Node;
class Recorder;

// Nanoseconds since an unspecified epoch. Tests set their own clock; null restores the machine's.
using StatisticsClock = int64_t (*)();
void set_statistics_clock(StatisticsClock clock);
int64_t statistics_now();

// Returns whether CORNU_DATA_STATS is set to anything but "" and "0".
bool statistics_asked_for();

// One transform in one pass; it may have several streams (repeat opens one after another).
class Stage {
 public:
  // `pass` distinguishes the stages of one pass from those of others.
  Stage(std::string name, std::string place, const Recorder* pass)
      : name_(std::move(name)), place_(std::move(place)), pass_(pass) {}
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  enum class Time { Working, Input, Starved, Ahead };
  void add(Time kind, int64_t nanoseconds);
  void count_element() { elements_.fetch_add(1, std::memory_order_relaxed); }
  // Records the buffer's state when an element was requested: `fill` elements were ready, with room
  // for `size`.
  void count_buffer(int64_t fill, int64_t size);
  // Threads that compute elements are counted separately from those that take them, since a thread
  // that only takes elements made by others adds no parallelism.
  enum class Workers { Takers, Makers };
  void begin_work(Workers who);
  void end_work(Workers who) {
    at_work_[static_cast<size_t>(who)].fetch_sub(1, std::memory_order_relaxed);
  }

  // Returns the stage of an input (`index`; nullopt for a dataset returned by a function), creating
  // it on first use. Thread-safe.
  Stage* input(const std::optional<size_t>& index, const Node& node);

  const Recorder* pass() const { return pass_; }
  // Appends the rows of its inputs, then this stage's own row.
  void collect(int64_t depth, std::vector<StageStatistics>& rows) const;

 private:
  StageStatistics row(int64_t depth) const;

  const std::string name_;
  const std::string place_;
  const Recorder* const pass_;
  std::atomic<int64_t> elements_ = 0;
  std::array<std::atomic<int64_t>, 4> times_ = {};
  std::atomic<int64_t> buffered_ = 0;  // summed over `asked_`
  std::atomic<int64_t> asked_ = 0;
  std::atomic<int64_t> buffer_size_ = 0;
  std::array<std::atomic<int64_t>, 2> at_work_ = {};  // by Workers
  std::atomic<int64_t> most_at_work_ = 0;             // the maximum of either

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Stage>> inputs_;  // guarded by mutex_, in the order of their places
};

// The statistics of one pass.
class Recorder {
 public:
  explicit Recorder(const Node& last);
  Stage* last() { return &last_; }
  Statistics statistics() const;

  // Marks the time during which the consumer waits for an element.
  class [[nodiscard]] Wait {
   public:
    explicit Wait(Recorder& recorder);
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    Recorder& recorder_;
    int64_t start_;
  };

 private:
  Stage last_;
  std::atomic<int64_t> begin_ = -1;
  std::atomic<int64_t> end_ = 0;
  std::atomic<int64_t> waited_ = 0;
};

// All passes over a dataset's handle, finished and running. Thread-safe.
class StatisticsHistory {
 public:
  void begin(std::shared_ptr<const Recorder> pass);
  bool end(const std::shared_ptr<const Recorder>& pass);  // false if it ended before
  Statistics statistics() const;

 private:
  mutable std::mutex mutex_;
  Statistics ended_;  // guarded by mutex_, like all below
  std::vector<std::shared_ptr<const Recorder>> live_;
};

// Attributes the calling thread's time to a stage during the timer's lifetime. No-op without a
// stage.
class [[nodiscard]] StageTimer {
 public:
  enum class Kind {
    Next,     // returns an element: counts as work, except for what nested timers measure
    Work,     // the same, on a thread owned by the stage
    Starved,  // the consumer waits for elements that are made in advance
    Ahead,    // a thread owned by the stage waits for room in the buffer
  };
  StageTimer(Stage* stage, Kind kind);
  ~StageTimer();
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  bool works() const { return kind_ == Kind::Next || kind_ == Kind::Work; }
  Stage::Workers workers() const {
    return kind_ == Kind::Work ? Stage::Workers::Makers : Stage::Workers::Takers;
  }

  Stage* stage_;
  Kind kind_;
  StageTimer* outer_ = nullptr;
  bool inner_ = false;  // its time isn't work of the outer timer's stage
  int64_t start_ = 0;
  int64_t within_ = 0;  // time measured by nested timers
};

template <class Item>
class MeasuredStream : public streams::Stream<Item> {
 public:
  MeasuredStream(streams::StreamPtr<Item> stream, Stage* stage)
      : stream_(std::move(stream)), stage_(stage) {}

  bool next(Item& item) override {
    const StageTimer timer(stage_, StageTimer::Kind::Next);
    if (!stream_->next(item)) return false;
    stage_->count_element();
    return true;
  }
  void leave_out(int64_t count, int64_t& left_out) override {
    const StageTimer timer(stage_, StageTimer::Kind::Next);
    stream_->leave_out(count, left_out);
  }
  Json save() const override { return stream_->save(); }
  void restore(const Json& state) override { stream_->restore(state); }

 private:
  streams::StreamPtr<Item> stream_;
  Stage* stage_;  // owned by the pass, which outlives the stream
};

}  // namespace cornu::data
