// SPDX-License-Identifier: Apache-2.0
#include "data/serialization/links.h"
#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

template <class Item>
class CountingStream : public Stream<Item> {
 public:
  CountingStream(StreamPtr<Item> input, int64_t count) : input_(std::move(input)), count_(count) {}

  bool next(Item& item) override {
    if (is_wrong_) return false;
    const bool more = input_.next(item);
    expect(more ? 1 : 0, 1);
    return more;
  }
  void leave_out(int64_t count, int64_t& left_out) override {
    if (is_wrong_) return;
    expect(input_.leave_out(count, left_out), count);
  }
  Json save() const override { return input_.save(); }
  void restore(const Json& state) override { input_.restore(state); }

 private:
  void expect(int64_t came, int64_t wanted) {
    const int64_t taken = input_.taken();
    const bool endless = count_ == kInfiniteCardinality;
    is_wrong_ = true;
    check<FailedPrecondition>(came == wanted || taken == count_,
                              "assert_cardinality: expected {} elements, but there are {}.",
                              endless ? "endless" : std::to_string(count_), taken);
    check<FailedPrecondition>(endless || taken <= count_,
                              "assert_cardinality: expected {} elements, but there are at least "
                              "{}.",
                              count_, taken);
    is_wrong_ = false;
  }

  Input<Item> input_;
  int64_t count_;
  bool is_wrong_ = false;  // reported once; the stream then ends
};

class Asserted : public ItemTransform<Asserted> {
 public:
  Asserted(NodePtr input, int64_t count) : ItemTransform(std::move(input)), count_(count) {
    check<InvalidArgument>(count >= 0 || count == kInfiniteCardinality,
                           "assert_cardinality: expected a count of at least 0, or "
                           "kInfiniteCardinality, got {}.",
                           count);
  }

  std::optional<int64_t> cardinality() const override { return count_; }
  std::string describe() const override { return fmt::format("assert_cardinality({})", count_); }
  void write(LinkWriter& link) const override { link.kind("assert_cardinality")("count", count_); }

  NodePtr on_parts(std::vector<NodePtr> inputs) const override { return inputs.front(); }

  template <class Item>
  StreamPtr<Item> open(Pass pass) const {
    return std::make_unique<CountingStream<Item>>(open_input<Item>(pass), count_);
  }

 private:
  int64_t count_;
};

}  // namespace

NodePtr make_assert_cardinality(NodePtr input, int64_t count) {
  return std::make_shared<Asserted>(std::move(input), count);
}

NodePtr read_assert_cardinality(LinkReader& link) {
  return make_assert_cardinality(link.input(), link.get<int64_t>("count"));
}

}  // namespace cornu::data
