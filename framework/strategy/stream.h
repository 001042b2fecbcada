// SPDX-License-Identifier: Apache-2.0
// Streams of items, and positions in them.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/core/error.h"
#include "framework/core/json.h"

namespace cornu::streams {

// A sequence of items. Used by one thread at a time; can't be restarted.
//
// Streams are deterministic: item k depends only on k. So a position is a count, and skip(count) on
// a new stream restores it. If items are costly, skip() is cheaper than next(); if it can't be,
// save() returns what a new stream needs to continue without the earlier items.
template <class Item>
class Stream {
 public:
  virtual ~Stream() = default;

  // Returns false at the end. If an item can't be created, throws in its place; the next call
  // continues after it, if the streams below can.
  virtual bool next(Item& item) = 0;

  // Skips up to `count` items; fewer only at the end. Returns how many.
  int64_t skip(int64_t count) {
    int64_t left_out = 0;
    leave_out(count, left_out);
    return left_out;
  }
  // Like skip(), but adds to `left_out`. Skipped items needn't be created; if one is, and fails,
  // throws in its place, like next(): `left_out` then counts the items before it, not the failed
  // one, and the next call continues after it.
  virtual void leave_out(int64_t count, int64_t& left_out) {
    Item item;
    for (; count > 0 && next(item); --count) ++left_out;
  }

  // The position, as a tree: each stream's own state around that of its input. Null if a count is
  // sufficient.
  virtual Json save() const { return {}; }
  // Moves a new stream to where save() was called. Throws DataLoss when that is impossible.
  virtual void restore(const Json& state) {
    raise<DataLoss>("a position's state {} is damaged: nothing was expected here.",
                    state.excerpt());
  }
};

template <class Item>
using StreamPtr = std::unique_ptr<Stream<Item>>;

// The maximum number of items before a position: going through more would take years.
inline constexpr int64_t kMaxItems = int64_t{1} << 53;

// Return members of a saved state: a count in [0, kMaxItems], such counts in ascending order, or a
// part. Throw DataLoss if there is none.
int64_t saved_count(const Json& state, std::string_view key);
std::vector<int64_t> saved_counts(const Json& state, std::string_view key);
const Json& saved_part(const Json& state, std::string_view key);

// A part of save()'s result that takes long to write: it is written by `make` when the position is
// requested. That may happen later, on any thread and more than once, so `make` may only use what
// it has captured. If the position is requested now, it is written immediately.
Json written_later(std::function<Json()> make);

// A position that may be requested later. If it can't be saved, requesting it throws. Copies share
// the parts that haven't been written yet.
class KeptPosition {
 public:
  KeptPosition() = default;
  explicit KeptPosition(Json position) : position_(std::move(position)) {}
  template <class Saves>
  static KeptPosition of(const Saves& stream) {
    KeptPosition kept;
    const PartsScope parts(kept.parts_);
    try {
      kept.position_ = stream.save();
    } catch (const FailedPrecondition&) {
      kept.error_ = std::current_exception();
    }
    return kept;
  }
  Json get() const;
  bool is_null() const { return !error_ && position_.is_null(); }
  bool is_lost() const { return error_ != nullptr; }  // whether get() throws

 private:
  friend Json written_later(std::function<Json()> make);

  using Part = std::shared_ptr<const std::function<Json()>>;
  // While alive, collects the parts that this thread's streams write later, and leaves marks in
  // their places.
  class [[nodiscard]] PartsScope {
   public:
    explicit PartsScope(std::vector<Part>& parts) : outer_(std::exchange(active(), &parts)) {}
    ~PartsScope() { active() = outer_; }
    PartsScope(const PartsScope&) = delete;
    PartsScope& operator=(const PartsScope&) = delete;

    static std::vector<Part>*& active();

   private:
    std::vector<Part>* outer_;
  };
  // Returns the part, or its mark.
  static Json write(Part part);
  Json without_marks(const Json& tree) const;

  Json position_;  // with marks in place of parts_
  std::vector<Part> parts_;
  std::exception_ptr error_;
};

// A bounded number of earlier states of a stream.
class Snapshots {
 public:
  // Whether to add a state after `number` items.
  bool wants(int64_t number) const {
    return states_.empty() || number - states_.back().first >= every_;
  }
  // Adds the state that the stream saved after `number` items. Null states aren't kept.
  void add(int64_t number, KeptPosition state);
  // Positions before this won't be requested anymore.
  void release(int64_t oldest);
  // The position after `taken` items of a stream that can return the items from `oldest` on again.
  Json position(int64_t taken, int64_t oldest) const;

 private:
  static constexpr size_t kMax = 64;

  std::deque<std::pair<int64_t, KeptPosition>> states_;
  int64_t every_ = 1;  // number of items between two kept states
};

// The position of a stream that saved `state` after `at` of its `taken` items.
Json position_of(int64_t taken, int64_t at, Json state);

// The progress of Input::pass(): `error` takes the place of the item after `count` others.
struct Passed {
  int64_t count = 0;
  std::exception_ptr error = {};

  void throw_error() const {
    if (error) std::rethrow_exception(error);
  }
};

// What a failing item means to the streams above: it ends the pass, or it is passed over, and the
// items after it count. A skipped item needn't be created, so its failure may go unnoticed. The
// results must not depend on that: if failures are passed over, streams whose items begin after a
// failed one create the items that they skip, and other streams don't report failures among skipped
// items.
enum class Failures : bool { EndPass, ArePassed };

// More errors in a row than this can't be failures of individual items.
inline constexpr int32_t kMaxFailures = 100'000;

// The source of a stream's items: counts them, and saves and restores the position.
template <class Item>
class Input {
 public:
  // `looks_back`: whether items that were already taken may be needed again when a position is
  // restored.
  explicit Input(StreamPtr<Item> stream, bool looks_back = false)
      : stream_(std::move(stream)), looks_back_(looks_back) {}

  bool next(Item& item) {
    try {
      if (!stream_->next(item)) return false;
    } catch (...) {
      failed_ = true;
      ++in_a_row_;
      count(1);
      throw;
    }
    in_a_row_ = 0;
    count(1);
    return true;
  }
  // Skips up to `items` items; fewer at the end, or if one fails.
  Passed pass(int64_t items) {
    Passed passed;
    try {
      stream_->leave_out(items, passed.count);
    } catch (...) {
      passed.error = std::current_exception();
      failed_ = true;
    }
    if (passed.count > 0) in_a_row_ = 0;
    if (passed.error) ++in_a_row_;
    const int64_t places = passed.count + (passed.error ? 1 : 0);
    if (places > 0) count(places);
    return passed;
  }
  // Like Stream::leave_out(); returns how many it has added.
  int64_t leave_out(int64_t items, int64_t& left_out) {
    const Passed passed = pass(items);
    left_out += passed.count;
    passed.throw_error();
    return passed.count;
  }
  // Like skip() of a stream. If failures are passed over, failed items are skipped like others, and
  // count.
  int64_t skip(int64_t items, Failures failures = Failures::EndPass) {
    int64_t left = items;
    while (left > 0) {
      const Passed passed = pass(left);
      left -= passed.count;
      if (!passed.error) break;
      if (failures == Failures::EndPass || in_a_row_ >= kMaxFailures) passed.throw_error();
      --left;
    }
    return items - left;
  }

  // The number of items taken or skipped, including those in whose place an error occurred.
  int64_t taken() const { return taken_; }
  bool has_failed() const { return failed_; }
  // Whether a count of the results made from the items is sufficient as a position.
  bool is_counted() const { return !failed_ && !lost_ && !restored_ && stream_->save().is_null(); }

  // The position; null if is_counted(). Calls the stream's save() only once, since chains of
  // streams are deep.
  Json save() const {
    Json state = stream_->save();
    if (!failed_ && !lost_ && !restored_ && state.is_null()) return {};
    return with_failures(position_of(taken_, taken_, std::move(state)));
  }
  Json position() const { return position(taken_); }
  // The same, given the result `saved` of save().
  Json position_of_saved(Json saved) const {
    return saved.is_null() ? position_of(taken_, taken_, {}) : std::move(saved);
  }
  // The position if items from number `oldest` on are needed again; only if it looks back.
  Json position(int64_t oldest) const {
    return with_failures(oldest < taken_ ? earlier_.position(taken_, oldest)
                                         : position_of(taken_, taken_, stream_->save()));
  }
  // Items before this won't be needed again.
  void release(int64_t oldest) { earlier_.release(oldest); }

  // On a new input only. Throws FailedPrecondition when the items end before the position.
  void restore(const Json& position) {
    restore(position, {}, [](Item) {});
  }
  // Passes the items with these numbers to `keep` on the way.
  template <class Keep>
  void restore(const Json& position, const std::vector<int64_t>& numbers, const Keep& keep) {
    const int64_t taken = saved_count(position, "taken");
    restored_ = true;
    failed_ = position.contains("failed");
    // If a stream saves nothing, its items don't depend on which ones fail, and a count is
    // sufficient; whether it saved something earlier is irrelevant to that.
    const bool made = failed_ && (looks_back_ || position.contains("state"));
    if (const Json* state = position.find("state")) {
      const int64_t at = position.contains("at") ? saved_count(position, "at") : taken;
      stream_->restore(*state);
      taken_ = at;
      if (looks_back_) earlier_.add(at, KeptPosition(*state));
    }
    for (const int64_t number : numbers) {
      go_to(number, made);
      Item item{};
      check<FailedPrecondition>(number < taken && stream_->next(item),
                                "the position needs item {}, but there are fewer now.", number);
      count(1);
      keep(std::move(item));
    }
    go_to(taken, made);
  }

 private:
  void count(int64_t items) {
    taken_ += items;
    if (!looks_back_ || !earlier_.wants(taken_)) return;
    KeptPosition state = KeptPosition::of(*stream_);
    lost_ = lost_ || state.is_lost();
    if (!state.is_lost()) earlier_.add(taken_, std::move(state));
  }
  void go_to(int64_t number, bool made) {
    check<DataLoss>(number >= taken_, "a position's state is damaged: item {} comes after {}.",
                    number, taken_);
    const bool may_fail = failed_;
    for (bool more = true; more && taken_ < number;) {
      const Passed passed = made ? make_one() : pass(number - taken_);
      if (!may_fail) passed.throw_error();
      more = passed.error || passed.count > 0;
    }
    check<FailedPrecondition>(
        taken_ == number, "the position is after item {}, but there are {} now.", number, taken_);
  }

  Passed make_one() {
    Item item;
    try {
      return {next(item) ? 1 : 0};
    } catch (...) {
      return {0, std::current_exception()};
    }
  }
  Json with_failures(Json position) const {
    check<FailedPrecondition>(!lost_,
                              "the position isn't known: an earlier one, which it needs, couldn't "
                              "be saved.");
    if (failed_) position.set("failed", true);
    return position;
  }

  StreamPtr<Item> stream_;
  bool looks_back_;
  int64_t taken_ = 0;
  bool failed_ = false;    // so the results don't determine the number of items
  bool lost_ = false;      // a position that may be needed couldn't be saved
  bool restored_ = false;  // nor do they here, since a state was needed
  int32_t in_a_row_ = 0;   // number of consecutive items that failed, up to the last one
  Snapshots earlier_;
};

}  // namespace cornu::streams
