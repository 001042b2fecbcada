// SPDX-License-Identifier: Apache-2.0
// How the statistics of a pass are taken: each stage's streams are wrapped where they are opened
// (Node::stream), and times are kept on a stack of each thread, so that a stage's own work is told
// from that of its inputs. A pass that isn't measured has none of it.
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

// Nanoseconds since some moment. Tests set one of their own; null: the machine's.
using StatisticsClock = int64_t (*)();
void set_statistics_clock(StatisticsClock clock);
int64_t statistics_now();

// Is CORNU_DATA_STATS set to anything but nothing and 0?
bool statistics_asked_for();

// One transform in one pass, whose streams may be several (repeat opens one after another).
class Stage {
 public:
  // `pass`: tells stages of one pass from those of others.
  Stage(std::string name, std::string place, const Recorder* pass)
      : name_(std::move(name)), place_(std::move(place)), pass_(pass) {}
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  enum class Time { Working, Input, Starved, Ahead };
  void add(Time kind, int64_t nanoseconds);
  void count_element() { elements_.fetch_add(1, std::memory_order_relaxed); }
  // When an element was asked for, `fill` were made, and there was room for `size`.
  void count_buffer(int64_t fill, int64_t size);
  // Threads at work are counted apart from those that take elements: who takes what others make
  // isn't one more.
  enum class Workers { Takers, Makers };
  void begin_work(Workers who);
  void end_work(Workers who) {
    at_work_[static_cast<size_t>(who)].fetch_sub(1, std::memory_order_relaxed);
  }

  // The stage of an input (`index`; nullopt for a dataset that a function gave), made when it is
  // first asked for. Thread-safe.
  Stage* input(const std::optional<size_t>& index, const Node& node);

  const Recorder* pass() const { return pass_; }
  // This stage's row and, before it, those of its inputs.
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
  std::atomic<int64_t> most_at_work_ = 0;             // of either

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Stage>> inputs_;  // guarded by mutex_, in the order of their places
};

// The statistics of one pass.
class Recorder {
 public:
  explicit Recorder(const Node& last);
  Stage* last() { return &last_; }
  Statistics statistics() const;

  // While this lives, the consumer waits for an element.
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

// Of all passes over a dataset's handle: those that have ended, and those that go on. Thread-safe.
class StatisticsHistory {
 public:
  void begin(std::shared_ptr<const Recorder> pass);
  bool end(const std::shared_ptr<const Recorder>& pass);  // false: it has ended before
  Statistics statistics() const;

 private:
  mutable std::mutex mutex_;
  Statistics ended_;  // guarded by mutex_, as all below
  std::vector<std::shared_ptr<const Recorder>> live_;
};

// Measures what the calling thread does for a stage until it ends. Without a stage, nothing.
class [[nodiscard]] StageTimer {
 public:
  enum class Kind {
    Next,     // gives an element: work, but for what is measured within
    Work,     // the same on a thread of the stage's own
    Starved,  // the consumer waits for what is made ahead
    Ahead,    // a thread of the stage's own waits for room
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
  bool inner_ = false;  // its time is no work of the outer one's stage
  int64_t start_ = 0;
  int64_t within_ = 0;  // measured by timers within this one
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
  Stage* stage_;  // the pass's, which outlives it
};

}  // namespace cornu::data
