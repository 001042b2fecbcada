// SPDX-License-Identifier: Apache-2.0
#include "data/stage.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "data/node.h"
#include "framework/core/strings.h"

namespace cornu::data {
namespace {

constexpr size_t kLongestName = 40;

int64_t machine_clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::atomic<StatisticsClock> statistics_clock = machine_clock;

thread_local StageTimer* innermost_timer = nullptr;

double seconds_of(int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

std::string shown(const Node& node) { return printable(node.describe(), kLongestName); }

// Names the stage of a dataset made by a function: the number of such datasets isn't bounded, but
// the number of these names is.
std::string kind_of(const Node& node) {
  const std::string text = node.describe();
  return text.substr(0, text.find('('));
}

}  // namespace

void set_statistics_clock(StatisticsClock clock) {
  statistics_clock = clock ? clock : machine_clock;
}

int64_t statistics_now() { return statistics_clock.load(std::memory_order_relaxed)(); }

bool statistics_asked_for() {
  const char* set = std::getenv("CORNU_DATA_STATS");
  return set && *set && std::string_view(set) != "0";
}

void Stage::add(Time kind, int64_t nanoseconds) {
  times_[static_cast<size_t>(kind)].fetch_add(nanoseconds, std::memory_order_relaxed);
}

void Stage::count_buffer(int64_t fill, int64_t size) {
  buffered_.fetch_add(fill, std::memory_order_relaxed);
  asked_.fetch_add(1, std::memory_order_relaxed);
  buffer_size_.store(size, std::memory_order_relaxed);
}

void Stage::begin_work(Workers who) {
  const int64_t now =
      at_work_[static_cast<size_t>(who)].fetch_add(1, std::memory_order_relaxed) + 1;
  int64_t most = most_at_work_.load(std::memory_order_relaxed);
  while (now > most && !most_at_work_.compare_exchange_weak(most, now)) {
  }
}

Stage* Stage::input(const std::optional<size_t>& index, const Node& node) {
  std::string name = index ? shown(node) : kind_of(node);
  // Digits sort before letters, so that inputs keep their order.
  std::string place = index ? fmt::format("{}/{:04}:{}", place_, *index, name)
                            : fmt::format("{}/f:{}", place_, name);
  const std::lock_guard lock(mutex_);
  const auto at = std::lower_bound(
      inputs_.begin(), inputs_.end(), place,
      [](const auto& known, const std::string& sought) { return known->place_ < sought; });
  if (at != inputs_.end() && (*at)->place_ == place) return at->get();
  auto made = std::make_unique<Stage>(std::move(name), std::move(place), pass_);
  return inputs_.insert(at, std::move(made))->get();
}

void Stage::collect(int64_t depth, std::vector<StageStatistics>& rows) const {
  {
    const std::lock_guard lock(mutex_);
    const int64_t below = depth + (inputs_.size() > 1 ? 1 : 0);
    for (const auto& input : inputs_) input->collect(below, rows);
  }
  rows.push_back(row(depth));
}

StageStatistics Stage::row(int64_t depth) const {
  const auto time = [this](Time kind) {
    return seconds_of(times_[static_cast<size_t>(kind)].load(std::memory_order_relaxed));
  };
  const int64_t asked = asked_.load();
  return {.name = name_,
          .place = place_,
          .depth = depth,
          .elements = elements_.load(),
          .working = time(Time::Working),
          .input = time(Time::Input),
          .starved = time(Time::Starved),
          .ahead = time(Time::Ahead),
          .buffered =
              asked > 0 ? static_cast<double>(buffered_.load()) / static_cast<double>(asked) : 0,
          .buffer_size = buffer_size_.load(),
          .parallelism = most_at_work_.load()};
}

Recorder::Recorder(const Node& last) : last_(shown(last), shown(last), this) {}

Recorder::Wait::Wait(Recorder& recorder) : recorder_(recorder), start_(statistics_now()) {
  int64_t none = -1;
  recorder_.begin_.compare_exchange_strong(none, start_);
}

Recorder::Wait::~Wait() {
  const int64_t end = statistics_now();
  recorder_.waited_ += end - start_;
  recorder_.end_ = end;
}

Statistics Recorder::statistics() const {
  Statistics result;
  const int64_t begin = begin_.load();
  if (begin < 0) return result;
  last_.collect(0, result.stages);
  result.passes = 1;
  result.waited = seconds_of(waited_.load());
  result.seconds = seconds_of(std::max<int64_t>(0, end_.load() - begin));
  return result;
}

void StatisticsHistory::begin(std::shared_ptr<const Recorder> pass) {
  const std::lock_guard lock(mutex_);
  live_.push_back(std::move(pass));
}

bool StatisticsHistory::end(const std::shared_ptr<const Recorder>& pass) {
  const std::lock_guard lock(mutex_);
  if (std::erase(live_, pass) == 0) return false;
  ended_.add(pass->statistics());
  return true;
}

Statistics StatisticsHistory::statistics() const {
  const std::lock_guard lock(mutex_);
  Statistics result = ended_;
  for (const auto& pass : live_) result.add(pass->statistics());
  return result;
}

StageTimer::StageTimer(Stage* stage, Kind kind) : stage_(stage), kind_(kind) {
  if (!stage_) return;
  outer_ = std::exchange(innermost_timer, this);
  // Time spent by a map function in its own pass over another dataset counts as the map's work.
  inner_ = outer_ && outer_->stage_->pass() == stage_->pass();
  if (inner_ && outer_->works()) outer_->stage_->end_work(outer_->workers());
  if (works()) stage_->begin_work(workers());
  start_ = statistics_now();
}

StageTimer::~StageTimer() {
  if (!stage_) return;
  const int64_t taken = statistics_now() - start_;
  innermost_timer = outer_;
  using Time = Stage::Time;
  if (works()) {
    stage_->end_work(workers());
    stage_->add(Time::Working, taken - within_);
  } else {
    stage_->add(kind_ == Kind::Starved ? Time::Starved : Time::Ahead, taken);
  }
  if (!inner_) return;
  if (outer_->works()) outer_->stage_->begin_work(outer_->workers());
  outer_->within_ += taken;
  if (kind_ == Kind::Next) outer_->stage_->add(Time::Input, taken);
}

}  // namespace cornu::data
