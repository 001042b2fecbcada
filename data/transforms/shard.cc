// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

template <class Item>
class ShardStream : public Stream<Item> {
 public:
  ShardStream(StreamPtr<Item> input, int64_t count, int64_t index)
      : input_(std::move(input)), count_(count), gap_(index) {}

  bool next(Item& item) override { return close_gap() && input_->next(item); }

  int64_t skip(int64_t count) override {
    if (count <= 0 || !close_gap()) return 0;
    // Up to the last skipped item; the gap behind it stays open.
    const int64_t passed = input_->skip(saturating_product(count - 1, count_) + 1);
    return (passed + count_ - 1) / count_;
  }

 private:
  // Goes over the other shards' items.
  bool close_gap() {
    if (input_->skip(gap_) < gap_) return false;
    gap_ = count_ - 1;
    return true;
  }

  StreamPtr<Item> input_;
  int64_t count_;
  int64_t gap_;
};

class Sharded : public ItemTransform<Sharded> {
 public:
  Sharded(NodePtr input, int64_t count, int64_t index)
      : ItemTransform(std::move(input)), count_(count), index_(index) {
    check<InvalidArgument>(count >= 1, "shard: expected a count of at least 1, got {}.", count);
    check<InvalidArgument>(0 <= index && index < count,
                           "shard: expected an index in [0, {}), got {}.", count, index);
  }

  std::optional<int64_t> cardinality() const override {
    const auto items = input().cardinality();
    if (!items || *items == kInfiniteCardinality) return items;
    return *items / count_ + (index_ < *items % count_);
  }
  std::string describe() const override { return fmt::format("shard({}, {})", count_, index_); }

  template <class Item>
  StreamPtr<Item> open(Pass pass) const {
    return std::make_unique<ShardStream<Item>>(open_input<Item>(pass), count_, index_);
  }

 private:
  int64_t count_;
  int64_t index_;
};

}  // namespace

NodePtr make_shard(NodePtr input, int64_t count, int64_t index) {
  return std::make_shared<Sharded>(std::move(input), count, index);
}

}  // namespace cornu::data
