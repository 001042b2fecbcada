// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "data/serialization/links.h"
#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

// Skips when the first item is requested, so that opening a stream costs nothing.
template <class Item>
class SkipStream : public Stream<Item> {
 public:
  SkipStream(StreamPtr<Item> input, int64_t count, Failures failures)
      : input_(std::move(input)), count_(count), failures_(failures) {}

  bool next(Item& item) override {
    skip_first();
    return input_.next(item);
  }
  void leave_out(int64_t count, int64_t& left_out) override {
    if (count <= 0) return;
    skip_first();
    input_.leave_out(count, left_out);
  }

  Json save() const override { return input_.save(); }
  void restore(const Json& state) override { input_.restore(state); }

 private:
  // If an item fails and ends the call, the next call continues after it.
  void skip_first() {
    if (!skipped_ && input_.taken() < count_) input_.skip(count_ - input_.taken(), failures_);
    skipped_ = true;
  }

  Input<Item> input_;
  int64_t count_;
  Failures failures_;
  bool skipped_ = false;
};

// Skipping so few items (a file's header, say) is cheap enough when only a sample is requested.
constexpr int64_t kFewItems = 1000;

template <class Item>
class EndedStream : public Stream<Item> {
 public:
  bool next(Item&) override { return false; }
};

class Skipped : public ItemTransform<Skipped> {
 public:
  Skipped(NodePtr input, int64_t count) : ItemTransform(std::move(input)), count_(count) {}

  std::optional<int64_t> cardinality() const override {
    if (count_ < 0) return 0;
    const auto items = input().cardinality();
    if (!items || *items == kInfiniteCardinality) return items;
    return std::max<int64_t>(0, *items - count_);
  }
  std::optional<Element> sample() const override {
    return count_ <= kFewItems ? sample_without_them() : input().sample();
  }
  std::string describe() const override { return fmt::format("skip({})", count_); }
  void write(LinkWriter& link) const override { link.kind("skip")("count", count_); }

  template <class Item>
  StreamPtr<Item> open(Pass pass) const {
    if (count_ < 0) return std::make_unique<EndedStream<Item>>();
    return std::make_unique<SkipStream<Item>>(open_input<Item>(pass), count_, pass.failures);
  }

 private:
  int64_t count_;  // negative: all
};

}  // namespace

NodePtr make_skip(NodePtr input, int64_t count) {
  return std::make_shared<Skipped>(std::move(input), count);
}

NodePtr read_skip(LinkReader& link) { return make_skip(link.input(), link.get<int64_t>("count")); }

}  // namespace cornu::data
