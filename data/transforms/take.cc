// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "data/serialization/links.h"
#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

template <class Item>
class TakeStream : public Stream<Item> {
 public:
  TakeStream(StreamPtr<Item> input, int64_t count, Failures failures)
      : input_(std::move(input)), count_(count), failures_(failures) {}

  bool next(Item& item) override {
    if (given_ == count_ || !input_.next(item)) return false;
    ++given_;
    return true;
  }
  // Items that fail don't count.
  void leave_out(int64_t count, int64_t& left_out) override {
    if (failures_ == Failures::ArePassed) return Stream<Item>::leave_out(count, left_out);
    const Passed items = input_.pass(std::min(count, count_ - given_));
    given_ += items.count;
    left_out += items.count;
    items.throw_error();
  }

  Json save() const override {
    Json state = failures_ == Failures::ArePassed ? input_.position() : input_.save();
    if (given_ != input_.taken()) state.set("given", given_);
    return state;
  }
  void restore(const Json& state) override {
    input_.restore(state);
    given_ = state.contains("given") ? streams::saved_count(state, "given") : input_.taken();
    check<DataLoss>(given_ <= count_, "a position's state {} is damaged.", state.excerpt());
  }

 private:
  Input<Item> input_;
  int64_t count_;
  Failures failures_;
  int64_t given_ = 0;  // not counting those that failed
};

class Taken : public ItemTransform<Taken> {
 public:
  Taken(NodePtr input, int64_t count) : ItemTransform(std::move(input)), count_(count) {}

  std::optional<int64_t> cardinality() const override {
    const auto items = input().cardinality();
    if (count_ < 0 || !items) return items;
    return *items == kInfiniteCardinality ? count_ : std::min(*items, count_);
  }
  std::string describe() const override { return fmt::format("take({})", count_); }
  void write(LinkWriter& link) const override { link.kind("take")("count", count_); }

  template <class Item>
  StreamPtr<Item> open(Pass pass) const {
    auto items = open_input<Item>(pass);
    if (count_ < 0) return items;
    return std::make_unique<TakeStream<Item>>(std::move(items), count_, pass.failures);
  }

 private:
  int64_t count_;  // negative: all
};

}  // namespace

NodePtr make_take(NodePtr input, int64_t count) {
  return std::make_shared<Taken>(std::move(input), count);
}

NodePtr read_take(LinkReader& link) { return make_take(link.input(), link.get<int64_t>("count")); }

}  // namespace cornu::data
