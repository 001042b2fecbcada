// SPDX-License-Identifier: Apache-2.0
// Passes over rows and batches, item after item: what data pipelines and arrays in memory share.
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

// a * b of counts >= 0, or the largest number when that is too large.
inline int64_t saturating_product(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

// How many parts of `size` (>= 1) make `count`.
inline int64_t parts_of(int64_t count, int64_t size) { return count / size + (count % size != 0); }

// An index into axis 0 of a table.
using Row = int64_t;

// The rows of a batch that nobody has gathered yet.
struct RowList {
  std::vector<Row> rows;
};
inline int64_t row_count(const RowList& list) { return static_cast<int64_t>(list.rows.size()); }
inline RowList rows_between(const RowList& list, int64_t begin, int64_t end) {
  return {{list.rows.begin() + begin, list.rows.begin() + end}};
}

// 0, 1, …, count - 1; or what stands at these places of `order`, unless that is empty.
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
  int64_t skip(int64_t count) override {
    const int64_t skipped = std::min(count, count_ - next_);
    next_ += skipped;
    return skipped;
  }

 private:
  int64_t count_;
  std::vector<Row> order_;
  int64_t next_ = 0;
};

// Every `count`-th item from item `index` on.
template <class Item>
class ShardStream : public Stream<Item> {
 public:
  ShardStream(StreamPtr<Item> input, int64_t count, int64_t index)
      : input_(std::move(input)), count_(count), index_(index) {}

  bool next(Item& item) override { return close_gap() && input_.next(item); }

  int64_t skip(int64_t count) override {
    if (count <= 0 || !close_gap()) return 0;
    // Up to the last skipped item; the gap after it stays open.
    const int64_t gaps = saturating_product(count - 1, count_);
    const int64_t most = std::numeric_limits<int64_t>::max();
    return parts_of(input_.skip(gaps == most ? most : gaps + 1), count_);
  }

  Json save() const override { return input_.save(); }
  void restore(const Json& state) override { input_.restore(state); }

 private:
  // Goes over the other shards' items.
  bool close_gap() {
    const int64_t past = input_.taken() - index_;
    const int64_t gap = past <= 0 ? -past : (count_ - past % count_) % count_;
    return input_.skip(gap) == gap;
  }

  Input<Item> input_;
  int64_t count_;
  int64_t index_;
};

// The same of batches, where all shards have equally many: one that has run out before the others
// gives a batch of no rows, made by rows_between of another batch.
template <class Item>
class EvenShardStream : public Stream<Item> {
 public:
  using Open = std::function<StreamPtr<Item>()>;

  EvenShardStream(Open open, int64_t count, int64_t index)
      : open_(std::move(open)), input_(open_()), count_(count), index_(index) {}

  bool next(Item& item) override {
    if (ended_) return false;
    const int64_t gap = behind_ + index_;
    const int64_t passed = input_.skip(gap);
    if (passed == gap && input_.next(item)) {
      behind_ = count_ - 1 - index_;
      return true;
    }
    ended_ = true;
    // Has another shard got a batch in this turn?
    return passed > behind_ && open_()->next(item) && make_empty(item);
  }

  int64_t skip(int64_t count) override {
    if (count <= 0 || ended_) return 0;
    const int64_t turns = saturating_product(count - 1, count_);
    const int64_t most = std::numeric_limits<int64_t>::max();
    const int64_t wanted = turns >= most - 2 * count_ ? most : behind_ + index_ + turns + 1;
    const int64_t passed = input_.skip(wanted);
    ended_ = passed < wanted;
    const int64_t batches = std::max<int64_t>(0, passed - behind_);
    behind_ = count_ - 1 - index_;
    return parts_of(batches, count_);
  }

  Json save() const override {
    Json input = input_.save();
    if (input.is_null()) return {};
    return Json::object({{"input", std::move(input)}, {"behind", behind_}, {"ended", ended_}});
  }
  void restore(const Json& state) override {
    input_.restore(saved_part(state, "input"));
    behind_ = saved_count(state, "behind");
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
  int64_t behind_ = 0;  // batches of the last turn that haven't been passed
  bool ended_ = false;
};

// Makes one of up to `batch_size` items.
template <class Item, class Result>
class BatchStream : public Stream<Result> {
 public:
  BatchStream(StreamPtr<Item> input, int64_t batch_size, bool drop_remainder)
      : input_(std::move(input)), batch_size_(batch_size), drop_remainder_(drop_remainder) {}

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

  int64_t skip(int64_t count) override {
    const int64_t skipped = input_.skip(saturating_product(count, batch_size_));
    return drop_remainder_ ? skipped / batch_size_ : parts_of(skipped, batch_size_);
  }

  Json save() const override { return input_.save(); }
  void restore(const Json& state) override { input_.restore(state); }

 protected:
  virtual Result combine(const std::vector<Item>& items) = 0;
  // Of its input, taken so far.
  int64_t items_taken() const { return input_.taken(); }

 private:
  Input<Item> input_;
  std::vector<Item> items_;
  int64_t batch_size_;
  bool drop_remainder_;
};

class RowListStream : public BatchStream<Row, RowList> {
 public:
  RowListStream(StreamPtr<Row> rows, int64_t batch_size)
      : BatchStream(std::move(rows), batch_size, false) {}

 protected:
  RowList combine(const std::vector<Row>& rows) override { return {rows}; }
};

// Divides each batch into parts, as evenly as it can, by row_count and rows_between.
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

  int64_t skip(int64_t count) override {
    if (part_ != parts_) return Stream<Item>::skip(count);
    const int64_t skipped = input_.skip(count / parts_) * parts_;
    return skipped + Stream<Item>::skip(count - skipped);
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
  int64_t part_;  // the next one
};

}  // namespace cornu::streams
