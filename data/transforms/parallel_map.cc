// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/parallel_map.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <utility>

#include "data/iteration.h"
#include "data/transforms/ordered_tasks.h"
#include "framework/core/error.h"

namespace cornu::data {
namespace {

class SerialMapStream : public Stream<Element> {
 public:
  SerialMapStream(StreamPtr<Element> input, NumberedFunction f)
      : input_(std::move(input)), f_(std::move(f)) {}

  bool next(Element& element) override {
    if (!input_.next(element)) return false;
    element = f_(element, input_.taken() - 1);
    return true;
  }
  void leave_out(int64_t count, int64_t& left_out) override { input_.leave_out(count, left_out); }

  Json save() const override { return input_.save(); }
  void restore(const Json& state) override { input_.restore(state); }

 private:
  Input<Element> input_;
  NumberedFunction f_;
};

// A map with a fixed or an autotuned number of calls.
class ParallelMapStream : public Stream<Element> {
 public:
  ParallelMapStream(StreamPtr<Element> input, NumberedFunction f, int64_t calls, const Pass& pass,
                    Order order)
      : ParallelMapStream(std::move(input), std::move(f), how_many(calls, pass), pass.stage,
                          order) {
    if (any_order_ && pass.iteration) pass.iteration->any_order = true;
    if (!options_of(pass).enabled) return;
    if (calls == kAutotune) tuned_.emplace(calls_);
    if (!pass.iteration) return;
    iteration_ = pass.iteration;
    iteration_->demand.watch();
    memory_ = iteration_->memory;
  }

  ~ParallelMapStream() override {
    if (tasks_->is_ours()) {
      tasks_->stop();
      hold(0);
    } else {  // threads of another process can't be joined, nor can what they hold be released
      static_cast<void>(new std::shared_ptr<OrderedTasks>(std::move(tasks_)));
    }
  }

  bool next(Element& element) override {
    check<FailedPrecondition>(tasks_->is_ours(),
                              "map: this iteration was begun before the process forked, and its "
                              "threads are the parent's. Begin a new one in the child.");
    if (tasks_->size() == 0 && !error_ && most_ahead() == 0) return next_here(element);
    fill();
    if (tasks_->size() > 0) {
      take(element);
      return true;
    }
    throw_error();
    return false;
  }

  void leave_out(int64_t count, int64_t& left_out) override {
    for (; tasks_->size() > 0 && count > 0; --count, ++left_out) {
      pass_one();
      tasks_->drop();
    }
    if (count == 0) return;
    throw_error();
    if (!ended_) input_.leave_out(count, left_out);
  }

  // The position after the elements that next() has returned, not after those that were started.
  Json save() const override {
    if (!any_order_) return begun_.empty() ? input_.save() : position_.get();
    if (input_.taken() == 0) return {};
    Json numbers = Json::array();
    for (const Begun& begun : begun_) numbers.push_back(begun.number);
    const int64_t oldest = begun_.empty() ? input_.taken() : begun_.front().number;
    return Json::object({{"input", input_.position(oldest)}, {"begun", std::move(numbers)}});
  }
  void restore(const Json& state) override {
    if (!any_order_) return input_.restore(state);
    const auto numbers = streams::saved_counts(state, "begun");
    size_t next = 0;
    input_.restore(streams::saved_part(state, "input"), numbers,
                   [&](Element element) { begin(std::move(element), numbers[next++]); });
  }

 private:
  // An element whose result hasn't been returned.
  struct Begun {
    int64_t number;
    streams::KeptPosition position;  // after it, if the order is kept
  };

  ParallelMapStream(StreamPtr<Element> input, NumberedFunction f, int64_t calls, Stage* stage,
                    Order order)
      : any_order_(order == Order::Any),
        input_(std::move(input), any_order_),
        calls_(calls),
        stage_(stage),
        tasks_(std::make_shared<OrderedTasks>(std::move(f), calls, stage)) {}

  static AutotuneOptions options_of(const Pass& pass) {
    return pass.iteration ? pass.iteration->options.autotune : AutotuneOptions();
  }
  // The number of concurrent calls.
  static int64_t how_many(int64_t calls, const Pass& pass) {
    if (calls != kAutotune) return calls;
    const int64_t cores = usable_cores();
    const int64_t budget = options_of(pass).cpu_budget;
    return budget > 0 ? std::min(budget, cores) : cores;
  }

  // If the number of calls is fixed, every thread has a current task and a next one.
  int64_t most_ahead() const {
    if (!need_.is_needed()) return 0;
    return tuned_ ? tuned_->ahead() : 2 * calls_;
  }

  // Used if other threads aren't needed, or not worthwhile.
  bool next_here(Element& element) {
    if (ended_ || !input_.next(element)) {
      ended_ = true;
      return false;
    }
    element = tasks_->run_here(std::move(element), input_.taken() - 1);
    took({});
    return true;
  }

  void fill() {
    while (!ended_ && !error_ && tasks_->size() < std::max<int64_t>(1, most_ahead())) {
      Element element;
      try {
        ended_ = !input_.next(element);
      } catch (...) {
        if (any_order_) throw;
        error_ = std::current_exception();  // thrown when all earlier results have been taken
        begun_.push_back({input_.taken() - 1, streams::KeptPosition::of(input_)});
      }
      if (!ended_ && !error_) begin(std::move(element), input_.taken() - 1);
    }
  }

  void begin(Element element, int64_t number) {
    begun_.push_back(
        {number, any_order_ ? streams::KeptPosition() : streams::KeptPosition::of(input_)});
    tasks_->add(std::move(element), number);
  }

  void take(Element& element) {
    TunedCalls::Taken taken;
    if (stage_ || tuned_) {
      const int64_t done = tasks_->done();
      if (stage_) stage_->count_buffer(done, most_ahead());
      taken.all_done = done == tasks_->size();
      taken.threads_idle = Pool::shared().idle() > 0;
    }
    if (any_order_) {
      element = take_any();
    } else {
      pass_one();
      element = tasks_->take();
    }
    taken.waited = tasks_->last().waited;
    if (memory_) {
      const int64_t bytes = bytes_of(element);
      hold(bytes * tasks_->size());
      taken.room = memory_->has_room(bytes);
    }
    took(taken);
  }

  Element take_any() {
    int64_t number = 0;
    const auto given = [&] {
      std::erase_if(begun_, [&](const Begun& begun) { return begun.number == number; });
      input_.release(begun_.empty() ? input_.taken() : begun_.front().number);
    };
    try {
      Element element = tasks_->take_any(number);
      given();
      return element;
    } catch (...) {  // its element is consumed nevertheless
      given();
      throw;
    }
  }

  // Updates the tuning with the last element's statistics.
  void took(TunedCalls::Taken taken) {
    taken.nanoseconds = tasks_->last().nanoseconds;
    if (tuned_) tuned_->took(taken);
    if (!iteration_) return;
    const Demand& demand = iteration_->demand;
    need_.worked(taken.nanoseconds, demand, !demand.is_consumer());
  }

  // Reports prefetched bytes to the budget, assuming that all results are as large as the last one.
  void hold(int64_t bytes) {
    if (!memory_) return;
    memory_->add(bytes - held_);
    held_ = bytes;
  }

  void throw_error() {
    if (!error_) return;
    pass_one();
    std::rethrow_exception(std::exchange(error_, nullptr));
  }

  void pass_one() {
    position_ = std::move(begun_.front().position);
    begun_.pop_front();
  }

  const bool any_order_;
  Input<Element> input_;
  const int64_t calls_;
  Stage* const stage_;
  std::optional<TunedCalls> tuned_;
  NeedOfThreads need_;
  const Iteration* iteration_ = nullptr;  // null if there is nothing to tune
  std::shared_ptr<MemoryBudget> memory_;  // null if there is nothing to tune
  int64_t held_ = 0;                      // bytes reported to the budget
  bool ended_ = false;
  std::exception_ptr error_;        // of the element after the started ones
  std::deque<Begun> begun_;         // including the one of error_
  streams::KeptPosition position_;  // after what next() returned, unless begun_ is empty
  std::shared_ptr<OrderedTasks> tasks_;
};

}  // namespace

StreamPtr<Element> make_parallel_map(StreamPtr<Element> input, NumberedFunction f, int64_t calls,
                                     const Pass& pass, Order order) {
  if (pass.sample || (calls == 1 && order == Order::Kept)) {
    return std::make_unique<SerialMapStream>(std::move(input), std::move(f));
  }
  return std::make_unique<ParallelMapStream>(std::move(input), std::move(f), calls, pass, order);
}

bool keeps_order(int64_t calls, const std::optional<bool>& deterministic, const Pass& pass) {
  if (deterministic) return *deterministic;
  return calls == 1 || !pass.iteration || pass.iteration->options.deterministic.value_or(true);
}

Order order_in(int64_t calls, const std::optional<bool>& deterministic, const Pass& pass) {
  return pass.any_order && !keeps_order(calls, deterministic, pass) ? Order::Any : Order::Kept;
}

Pass pass_below(Order order, Pass pass) {
  pass.any_order = pass.any_order && order == Order::Kept;
  return pass;
}

NumberedFunction with_place(NumberedFunction f, const char* who) {
  return [f = std::move(f), who](const Element& element, int64_t number) {
    try {
      return f(element, number);
    } catch (const PeerLost&) {
      throw;
    } catch (const Error& error) {
      const StatusCode code = error.code();
      if (code == StatusCode::Aborted || code == StatusCode::Cancelled) throw;  // caused elsewhere
      std::rethrow_exception(
          error_of(code, fmt::format("{}, element {}: {}", who, number, error.what())));
    }
  };
}

int64_t resolve_parallel_calls(const std::optional<int64_t>& calls, const char* who) {
  const int64_t asked = calls.value_or(1);
  check<InvalidArgument>(
      asked >= 1 || asked == kAutotune,
      "{}: expected num_parallel_calls of at least 1, or data::kAutotune, got {}.", who, asked);
  static const int64_t cores = usable_cores();
  // More would only wait for each other.
  return std::min<int64_t>(asked, 8 * std::max<int64_t>(cores, 8));
}

}  // namespace cornu::data
