// SPDX-License-Identifier: Apache-2.0
// Items one after another, and positions among them.
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

// Items one after another. Used by one thread at a time; not restartable.
//
// Streams are deterministic: item k depends on k alone. So a position in one is a count, and
// skip(count) on a new stream restores it. Where items are costly, skip() is cheaper than next();
// where it can't be, save() tells what a new stream needs to go on without the items before.
template <class Item>
class Stream {
 public:
  virtual ~Stream() = default;

  // False at the end. An item that can't be made is thrown in its place; the next call goes on
  // after it where what is below can.
  virtual bool next(Item& item) = 0;

  // Leaves out up to `count` items; fewer only at the end. Returns how many.
  int64_t skip(int64_t count) {
    int64_t left_out = 0;
    leave_out(count, left_out);
    return left_out;
  }
  // The same, adding to `left_out` instead. Items that are left out needn't be made; where one is,
  // and fails, that is thrown in its place, as by next(): `left_out` has got those before it, not
  // itself, and the next call goes on after it.
  virtual void leave_out(int64_t count, int64_t& left_out) {
    Item item;
    for (; count > 0 && next(item); --count) ++left_out;
  }

  // Where it stands, as a tree: each stream's own part around its input's. Null: a count will do.
  virtual Json save() const { return {}; }
  // Moves a new stream to where save() was called: DataLoss when that can't be.
  virtual void restore(const Json& state) {
    raise<DataLoss>("a position's state {} is damaged: nothing was expected here.",
                    state.excerpt());
  }
};

template <class Item>
using StreamPtr = std::unique_ptr<Stream<Item>>;

// No position is behind more items than this: going through them would take years.
inline constexpr int64_t kMostItems = int64_t{1} << 53;

// Members of a saved state: DataLoss unless there is a count in [0, kMostItems], such counts in
// ascending order, a part.
int64_t saved_count(const Json& state, std::string_view key);
std::vector<int64_t> saved_counts(const Json& state, std::string_view key);
const Json& saved_part(const Json& state, std::string_view key);

// A part of what save() returns that takes long to write: `make` does it when somebody asks for the
// position. That may be later, on any thread and more than once, so it uses nothing but what it has
// captured. Where the position is asked for now, it is written now.
Json written_later(std::function<Json()> make);

// A position that may be asked for later. Where it can't be saved, that is an error then. Copies
// share what hasn't been written.
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
  bool is_lost() const { return error_ != nullptr; }  // get() throws

 private:
  friend Json written_later(std::function<Json()> make);

  using Part = std::shared_ptr<const std::function<Json()>>;
  // While this lives, what this thread's streams write later is put there, with marks in its place.
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
  // The part, or its mark.
  static Json write(Part part);
  Json without_marks(const Json& tree) const;

  Json position_;  // with marks where parts_ come
  std::vector<Part> parts_;
  std::exception_ptr error_;
};

// Earlier states of a stream, of which a bounded number is kept.
class Snapshots {
 public:
  // Is one after `number` items to be added?
  bool wants(int64_t number) const {
    return states_.empty() || number - states_.back().first >= every_;
  }
  // After `number` items the stream saved this. Nothing is kept of a null.
  void add(int64_t number, KeptPosition state);
  // Nobody will ask for positions before this.
  void release(int64_t oldest);
  // The position after `taken` items of a stream that can give those from `oldest` on again.
  Json position(int64_t taken, int64_t oldest) const;

 private:
  static constexpr size_t kMost = 64;

  std::deque<std::pair<int64_t, KeptPosition>> states_;
  int64_t every_ = 1;  // items between two that are kept
};

// The position of a stream that saved `state` after `at` of its `taken` items.
Json position_of(int64_t taken, int64_t at, Json state);

// How far Input::pass() came: `error` stands in place of the item behind `count` others.
struct Passed {
  int64_t count = 0;
  std::exception_ptr error = {};

  void throw_error() const {
    if (error) std::rethrow_exception(error);
  }
};

// What an item that fails means to those above: it ends the pass, or it is passed, and what comes
// behind it counts. An item that is left out needn't be made, so nobody may learn that it fails.
// What is given must not depend on that: where failures are passed, streams whose items begin
// behind one that failed make what they leave out, and others don't tell of failures among it.
enum class Failures : bool { EndPass, ArePassed };

// So many errors in a row aren't those of items.
inline constexpr int32_t kMostFailures = 100'000;

// What a stream takes its items from: counts them, and saves and restores where it stands.
template <class Item>
class Input {
 public:
  // `looks_back`: items that were taken may have to be given again when a position is restored.
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
  // Leaves out up to `items` items; fewer at the end, or where one fails.
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
  // As Stream's; returns how many it has added.
  int64_t leave_out(int64_t items, int64_t& left_out) {
    const Passed passed = pass(items);
    left_out += passed.count;
    passed.throw_error();
    return passed.count;
  }
  // The same. Where failures are passed, what fails is left out as the others are, and counts.
  int64_t skip(int64_t items, Failures failures = Failures::EndPass) {
    int64_t left = items;
    while (left > 0) {
      const Passed passed = pass(left);
      left -= passed.count;
      if (!passed.error) break;
      if (failures == Failures::EndPass || in_a_row_ >= kMostFailures) passed.throw_error();
      --left;
    }
    return items - left;
  }

  // Items that were taken or left out, and those in whose place an error came.
  int64_t taken() const { return taken_; }
  bool has_failed() const { return failed_; }
  // Would a count of what is made of the items do as a position?
  bool is_counted() const { return !failed_ && !lost_ && !restored_ && stream_->save().is_null(); }

  // The position; null where that is true. Asks the stream once: chains of them are deep.
  Json save() const {
    Json state = stream_->save();
    if (!failed_ && !lost_ && !restored_ && state.is_null()) return {};
    return with_failures(position_of(taken_, taken_, std::move(state)));
  }
  Json position() const { return position(taken_); }
  // The same, where save() gave `saved`.
  Json position_of_saved(Json saved) const {
    return saved.is_null() ? position_of(taken_, taken_, {}) : std::move(saved);
  }
  // The position, where items from number `oldest` on are needed again: only where it looks back.
  Json position(int64_t oldest) const {
    return with_failures(oldest < taken_ ? earlier_.position(taken_, oldest)
                                         : position_of(taken_, taken_, stream_->save()));
  }
  // Items before this won't be needed again.
  void release(int64_t oldest) { earlier_.release(oldest); }

  // A new input only. FailedPrecondition when the items end before the position.
  void restore(const Json& position) {
    restore(position, {}, [](Item) {});
  }
  // Gives the items of these numbers to `keep` on the way.
  template <class Keep>
  void restore(const Json& position, const std::vector<int64_t>& numbers, const Keep& keep) {
    const int64_t taken = saved_count(position, "taken");
    restored_ = true;
    failed_ = position.contains("failed");
    // Where a stream saves nothing, its items don't depend on which ones fail, and a count will do;
    // what it saved earlier, or didn't, says nothing of that.
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
  bool failed_ = false;    // so that what was made of the items doesn't tell their number
  bool lost_ = false;      // a position that may be needed
  bool restored_ = false;  // nor here, as a state was needed
  int32_t in_a_row_ = 0;   // items that failed one after another, the last one too
  Snapshots earlier_;
};

}  // namespace cornu::streams
