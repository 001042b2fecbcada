// SPDX-License-Identifier: Apache-2.0
// Streams of rows and batches, shared by data pipelines and in-memory arrays.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "framework/strategy/stream.h"

namespace cornu::streams {

// a + b for counts >= 0, or the largest number if the sum overflows.
inline int64_t saturating_sum(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

// a * b for counts >= 0, or the largest number if the product overflows.
inline int64_t saturating_product(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

// The number of parts of `size` (>= 1) that `count` is divided into, rounded up.
inline int64_t parts_of(int64_t count, int64_t size) { return count / size + (count % size != 0); }

// An index into axis 0 of a table.
using Row = int64_t;

// The rows of a batch that hasn't been gathered yet.
struct RowList {
  std::vector<Row> rows;
};
inline int64_t row_count(const RowList& list) { return static_cast<int64_t>(list.rows.size()); }
inline RowList rows_between(const RowList& list, int64_t begin, int64_t end) {
  return {{list.rows.begin() + begin, list.rows.begin() + end}};
}

// Yields 0, 1, …, count - 1; or the elements of `order` at these positions, unless it is empty.
class RowStream : public Stream<Row> {
 public:
  explicit RowStream(int64_t count, std::vector<Row> order = {})
      : count_(count), order_(std::move(order)) {}

  bool next(Row& row) override {
    if (next_ == count_) return false;
    row = order_.empty() ? next_ : order_[static_cast<size_t>(next_)];
    ++next_;
    return true;
  }
  void leave_out(int64_t count, int64_t& left_out) override {
    const int64_t here = std::min(count, count_ - next_);
    next_ += here;
    left_out += here;
  }

 private:
  int64_t count_;
  std::vector<Row> order_;
  int64_t next_ = 0;
};

// The number of items before the next one of shard `index` of `count`, after `taken` items.
inline int64_t items_to_shard(int64_t taken, int64_t count, int64_t index) {
  const int64_t gap = index - taken % count;
  return gap < 0 ? gap + count : gap;
}

// Every `count`-th item, starting at item `index`.
template <class Item>
class ShardStream : public Stream<Item> {
 public:
  ShardStream(StreamPtr<Item> input, int64_t count, int64_t index,
              Failures failures = Failures::EndPass)
      : input_(std::move(input)), count_(count), index_(index), failures_(failures) {}

  bool next(Item& item) override { return close_gap() && input_.next(item); }

  void leave_out(int64_t count, int64_t& left_out) override {
    while (count > 0 && close_gap()) {
      // Up to the last of the items; the gap after it isn't skipped yet.
      const int64_t gaps = saturating_product(count - 1, count_);
      const int64_t most = std::numeric_limits<int64_t>::max();
      const Passed passed = input_.pass(gaps == most ? most : gaps + 1);
      const int64_t own = parts_of(passed.count, count_);
      left_out += own;
      count -= own;
      const bool is_others = failures_ == Failures::ArePassed && passed.count % count_ != 0;
      if (!is_others) passed.throw_error();
      if (!passed.error) return;
    }
  }

  Json save() const override { return input_.save(); }
  void restore(const Json& state) override { input_.restore(state); }

 private:
  // Skips the other shards' items.
  bool close_gap() {
    const int64_t gap = items_to_shard(input_.taken(), count_, index_);
    return input_.skip(gap, failures_) == gap;
  }

  Input<Item> input_;
  int64_t count_;
  int64_t index_;
  Failures failures_;
};

// Like ShardStream, but for batches, with the same number in all shards: a shard that runs out
// before the others yields a batch without rows, made by rows_between from another batch.
template <class Item>
class EvenShardStream : public Stream<Item> {
 public:
  using Open = std::function<StreamPtr<Item>()>;

  EvenShardStream(Open open, int64_t count, int64_t index)
      : open_(std::move(open)), input_(open_()), count_(count), index_(index) {}

  bool next(Item& item) override {
    if (ended_) return false;
    const int64_t gap = items_to_shard(input_.taken(), count_, index_);
    const int64_t turn = input_.taken() + gap - index_;
    if (input_.skip(gap) == gap && input_.next(item)) return true;
    ended_ = true;
    // Whether another shard has a batch in this turn.
    return input_.taken() > turn && open_()->next(item) && make_empty(item);
  }

  void leave_out(int64_t count, int64_t& left_out) override {
    if (count <= 0 || ended_) return;
    const int64_t gap = items_to_shard(input_.taken(), count_, index_);
    const int64_t turn = input_.taken() + gap - index_;
    const int64_t turns = saturating_product(count - 1, count_);
    const int64_t most = std::numeric_limits<int64_t>::max();
    const int64_t wanted = turns >= most - 2 * count_ ? most : gap + turns + 1;
    const Passed passed = input_.pass(wanted);
    ended_ = !passed.error && passed.count < wanted;
    // The last turn has an empty batch if there is no batch of its own.
    const int64_t batches = ended_ ? input_.taken() - turn : passed.count - gap;
    left_out += parts_of(std::max<int64_t>(0, batches), count_);
    passed.throw_error();
  }

  Json save() const override {
    Json input = input_.save();
    if (input.is_null()) return {};
    return Json::object({{"input", std::move(input)}, {"ended", ended_}});
  }
  void restore(const Json& state) override {
    input_.restore(saved_part(state, "input"));
    ended_ = saved_part(state, "ended") == Json(true);
  }

 private:
  static bool make_empty(Item& item) {
    item = rows_between(item, 0, 0);
    return true;
  }

  Open open_;
  Input<Item> input_;
  int64_t count_;
  int64_t index_;
  bool ended_ = false;
};

// Combines up to `batch_size` items into one.
template <class Item, class Result>
class BatchStream : public Stream<Result> {
 public:
  BatchStream(StreamPtr<Item> input, int64_t batch_size, bool drop_remainder,
              Failures failures = Failures::EndPass)
      : input_(std::move(input)),
        batch_size_(batch_size),
        drop_remainder_(drop_remainder),
        failures_(failures) {}

  bool next(Result& result) override {
    items_.clear();
    Item item;
    while (std::ssize(items_) < batch_size_ && input_.next(item)) {
      items_.push_back(std::move(item));
    }
    if (items_.empty() || (drop_remainder_ && std::ssize(items_) < batch_size_)) return false;
    result = combine(items_);
    return true;
  }

  // After an item that fails, a new batch begins.
  void leave_out(int64_t count, int64_t& left_out) override {
    if (failures_ == Failures::ArePassed) return Stream<Result>::leave_out(count, left_out);
    const Passed items = input_.pass(saturating_product(count, batch_size_));
    const bool only_whole = drop_remainder_ || items.error;
    left_out += only_whole ? items.count / batch_size_ : parts_of(items.count, batch_size_);
    items.throw_error();
  }

  // Counted in items if their number doesn't follow from the number of batches.
  Json save() const override {
    return failures_ == Failures::ArePassed ? input_.position() : input_.save();
  }
  void restore(const Json& state) override { input_.restore(state); }

 protected:
  // May move from the items.
  virtual Result combine(std::vector<Item>& items) = 0;
  // The number of items taken from its input so far.
  int64_t items_taken() const { return input_.taken(); }

 private:
  Input<Item> input_;
  std::vector<Item> items_;
  int64_t batch_size_;
  bool drop_remainder_;
  Failures failures_;
};

class RowListStream : public BatchStream<Row, RowList> {
 public:
  RowListStream(StreamPtr<Row> rows, int64_t batch_size)
      : BatchStream(std::move(rows), batch_size, false) {}

 protected:
  RowList combine(std::vector<Row>& rows) override { return {rows}; }
};

// Divides each batch into parts, as evenly as possible, using row_count and rows_between.
template <class Item>
class DivideStream : public Stream<Item> {
 public:
  DivideStream(StreamPtr<Item> input, int64_t parts)
      : input_(std::move(input), true), parts_(parts), part_(parts) {}

  bool next(Item& item) override {
    if (part_ == parts_) {
      input_.release(input_.taken());
      if (!input_.next(batch_)) return false;
      part_ = 0;
    }
    item = rows_between(batch_, first_row(part_), first_row(part_ + 1));
    ++part_;
    return true;
  }

  void leave_out(int64_t count, int64_t& left_out) override {
    if (part_ != parts_) return Stream<Item>::leave_out(count, left_out);
    const Passed whole = input_.pass(count / parts_);
    left_out += whole.count * parts_;
    whole.throw_error();
    Stream<Item>::leave_out(count - whole.count * parts_, left_out);
  }

  Json save() const override {
    if (input_.is_counted()) return {};
    const int64_t rest = parts_ - part_;
    const int64_t oldest = input_.taken() - (rest > 0 ? 1 : 0);
    return Json::object({{"input", input_.position(oldest)}, {"rest", rest}});
  }
  void restore(const Json& state) override {
    const Json& input = saved_part(state, "input");
    const int64_t rest = saved_count(state, "rest");
    check<DataLoss>(rest <= parts_, "a position's state {} is damaged.", state.excerpt());
    std::vector<int64_t> held;
    if (rest > 0) held.push_back(saved_count(input, "taken") - 1);
    input_.restore(input, held, [this](Item item) { batch_ = std::move(item); });
    part_ = parts_ - rest;
  }

 private:
  int64_t first_row(int64_t part) const {
    const int64_t rows = row_count(batch_);
    return rows / parts_ * part + std::min(part, rows % parts_);
  }

  Input<Item> input_;
  int64_t parts_;
  Item batch_;
  int64_t part_;  // index of the next part
};

}  // namespace cornu::streams
