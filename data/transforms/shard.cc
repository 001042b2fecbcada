// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>

#include "data/serialization/links.h"
#include "data/transforms/transforms.h"

namespace cornu::data {
namespace {

void check_shard(int64_t count, int64_t index) {
  check<InvalidArgument>(count >= 1, "shard: expected a count of at least 1, got {}.", count);
  check<InvalidArgument>(0 <= index && index < count,
                         "shard: expected an index in [0, {}), got {}.", count, index);
}

class Sharded : public ItemTransform<Sharded> {
 public:
  Sharded(NodePtr input, int64_t count, int64_t index)
      : ItemTransform(std::move(input)), count_(count), index_(index) {
    check_shard(count, index);
  }

  std::optional<int64_t> cardinality() const override {
    const auto items = input().cardinality();
    if (!items || *items == kInfiniteCardinality) return items;
    return *items / count_ + (index_ < *items % count_);
  }
  std::optional<Element> sample() const override { return sample_without_them(); }
  std::string describe() const override { return fmt::format("shard({}, {})", count_, index_); }
  void write(LinkWriter& link) const override {
    link.kind("shard")("count", count_)("index", index_);
  }

  template <class Item>
  StreamPtr<Item> open(Pass pass) const {
    return std::make_unique<streams::ShardStream<Item>>(open_input<Item>(pass), count_, index_,
                                                        pass.failures);
  }

 private:
  int64_t count_;
  int64_t index_;
};

// Marks where a worker takes its part, if the dataset's policy is to use hints.
class ShardHint : public ItemTransform<ShardHint> {
 public:
  using ItemTransform::ItemTransform;

  std::string describe() const override { return "shard(hint)"; }
  void write(LinkWriter& link) const override { link.kind("shard_hint"); }
  NodePtr worker_part(const WorkerPart& part) const override {
    if (part.by != WorkerPart::By::Hint) return nullptr;
    return make_shard(inputs().front(), part.count, part.index);
  }

  template <class Item>
  StreamPtr<Item> open(Pass pass) const {
    return open_input<Item>(pass);
  }
};

// A worker's batches; every worker has the same number.
class EvenlySharded : public Node {
 public:
  EvenlySharded(NodePtr input, int64_t count, int64_t index)
      : Node({std::move(input)}), count_(count), index_(index) {
    check_shard(count, index);
    find_spec();
  }

  const ElementSpec& spec() const override { return spec_; }
  std::optional<int64_t> cardinality() const override {
    const auto batches = input().cardinality();
    if (!batches || *batches == kInfiniteCardinality) return batches;
    return streams::parts_of(*batches, count_);
  }
  std::optional<int64_t> batch_size() const override { return input().batch_size(); }
  std::shared_ptr<Node> clone() const override { return copy_of(*this); }
  std::string describe() const override {
    return fmt::format("even_shard({}, {})", count_, index_);
  }
  const Node& whole() const override {
    const Node* divided = input().divided_into(count_);
    return divided ? *divided : *this;
  }
  void write(LinkWriter& link) const override {
    link.kind("even_shard")("count", count_)("index", index_);
  }
  StreamPtr<Element> elements(Pass pass) const override {
    const Node& batches = input();
    return std::make_unique<streams::EvenShardStream<Element>>(
        [&batches, pass] { return batches.stream(pass); }, count_, index_);
  }

  void inputs_changed() override { find_spec(); }

 private:
  void find_spec() {
    spec_ = input().spec();
    const auto batches = input().cardinality();
    if (batches && *batches % count_ == 0) return;
    for (TensorType& type : spec_.types) type.shape[0] = kUnknown;  // the last may be empty
  }

  int64_t count_;
  int64_t index_;
  ElementSpec spec_;
};

}  // namespace

NodePtr make_even_shard(NodePtr input, int64_t count, int64_t index) {
  return below_prefetch(std::move(input), [=](NodePtr batches) {
    return std::make_shared<EvenlySharded>(std::move(batches), count, index);
  });
}

NodePtr make_shard(NodePtr input, int64_t count, int64_t index) {
  if (count == kShardHint && index == kShardHint) return std::make_shared<ShardHint>(input);
  return below_prefetch(std::move(input), [=](NodePtr items) {
    return std::make_shared<Sharded>(std::move(items), count, index);
  });
}

namespace {

// Whether all links except the sources work on parts.
bool all_work_on_parts(const Node& node) {
  const auto links = links_of(node);
  return std::all_of(links.begin(), links.end(), [](const Node* link) {
    return link->inputs().empty() || link->works_on_parts();
  });
}

// The chain on parts of its sources; shared links stay shared.
class OnSharded {
 public:
  explicit OnSharded(const WorkerPart& part) : part_(part) {}

  NodePtr of(const NodePtr& node) {
    NodePtr& made = made_[node.get()];
    if (!made) made = rewritten(node);
    return made;
  }

 private:
  NodePtr rewritten(const NodePtr& node) {
    if (node->inputs().empty()) return make_shard(node, part_.count, part_.index);
    std::vector<NodePtr> inputs;
    for (const NodePtr& input : node->inputs()) inputs.push_back(of(input));
    return node->with_inputs(std::move(inputs));
  }

  WorkerPart part_;
  std::unordered_map<const Node*, NodePtr> made_;
};

}  // namespace

NodePtr make_sharded_sources(const NodePtr& node, const WorkerPart& part) {
  // After a filter, each worker gets the same number of elements.
  if (!all_work_on_parts(*node) || !node->cardinality())
    return make_shard(node, part.count, part.index);
  return OnSharded(part).of(node);
}

NodePtr read_shard_hint(LinkReader& link) { return std::make_shared<ShardHint>(link.input()); }

NodePtr read_shard(LinkReader& link) {
  const auto count = link.get<int64_t>("count");
  return std::make_shared<Sharded>(link.input(), count, link.get<int64_t>("index"));
}

NodePtr read_even_shard(LinkReader& link) {
  const auto count = link.get<int64_t>("count");
  return std::make_shared<EvenlySharded>(link.input(), count, link.get<int64_t>("index"));
}

}  // namespace cornu::data
