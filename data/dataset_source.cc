// SPDX-License-Identifier: Apache-2.0
#include "data/dataset_source.h"

#include "data/dataset.h"
#include "data/serialization.h"
#include "data/serialization/link.h"
#include "data/sharding.h"
#include "data/transforms/transforms.h"
#include "framework/core/logging.h"
#include "framework/strategy/own_batches.h"

namespace cornu::data {
namespace {

const char* name_of(AutoShardPolicy policy) {
  static const char* const kNames[] = {"Auto", "Data", "File", "Record", "Hint", "Off"};
  return kNames[static_cast<size_t>(policy)];
}

class DatasetBatches : public BatchIterator {
 public:
  DatasetBatches(NodePtr node, NodePtr counter, std::string part)
      : iterator_(std::move(node), std::move(counter), std::move(part)) {}

  bool next(Batch& batch) override {
    Element element;
    if (!iterator_.next(element)) return false;
    batch = {.x = element[0],
             .y = element.size() > 1 ? element[1] : Tensors(),
             .sample_weight = element.size() > 2 ? element[2] : Tensors()};
    return true;
  }
  Json save() const override { return iterator_.save(); }
  void restore(const Json& position) override { iterator_.restore(position); }
  void restore_examples(const Json& position) override { iterator_.restore_examples(position); }

 private:
  Iterator iterator_;
};

class DatasetSource : public BatchSource, public distribute::OfEachWorker {
 public:
  DatasetSource(NodePtr node, NodePtr counter, std::string part)
      : node_(std::move(node)), counter_(std::move(counter)), part_(std::move(part)) {
    const ElementSpec& spec = node_->spec();
    check<InvalidArgument>(
        spec.structure->num_components() <= 3,
        "Dataset: training takes elements x, (x, y) or (x, y, sample_weight), got {}. Use map() to "
        "bring them into that form.",
        spec.to_string());
    for (const TensorType& type : spec.types) {
      check<InvalidArgument>(type.shape.rank() > 0,
                             "Dataset: training takes batches of examples, but the elements are "
                             "{}. Call batch() first.",
                             spec.to_string());
    }
  }

  std::unique_ptr<BatchIterator> iterate() const override {
    return std::make_unique<DatasetBatches>(node_, counter_, part_);
  }
  std::optional<int64_t> cardinality() const override { return node_->cardinality(); }
  Json facts() const override {
    Json facts = Json::object({{"AutoShardPolicy", name_of(policy())}});
    if (is_each_workers_own()) return facts;
    const auto batches = node_->cardinality();
    facts.set("dataset", describe_chain(*node_));
    facts.set("elements of the dataset", node_->spec().to_string());
    facts.set("number of batches", batches ? Json(*batches) : Json());
    try {
      facts.set("pipeline", comparable_pipeline(node_));
    } catch (const Error&) {  // a pipeline that can't be serialized isn't compared
    }
    return facts;
  }

  bool is_each_workers_own() const override { return policy() == AutoShardPolicy::Off; }
  std::vector<uint64_t> order_keys() const override {
    std::vector<uint64_t> keys;
    if (is_each_workers_own()) return keys;
    for (const auto* seed : drawn_seeds(*node_)) keys.push_back(seed->load());
    keys.push_back(static_cast<uint64_t>(counter_->passes().next(part_)));
    return keys;
  }
  void set_order_keys(const std::vector<uint64_t>& keys) const override {
    const auto seeds = drawn_seeds(*node_);
    check<InvalidArgument>(keys.size() == (is_each_workers_own() ? 0 : seeds.size() + 1),
                           "Dataset: {} has {} drawn seeds, got {} keys for its order.",
                           describe_chain(*node_), seeds.size(), keys.size());
    if (is_each_workers_own()) return;
    for (size_t i = 0; i < seeds.size(); ++i) seeds[i]->store(keys[i]);
    counter_->passes().set_next(part_, static_cast<int64_t>(keys.back()));
  }

  std::shared_ptr<BatchSource> shard(int64_t count, int64_t index) const override {
    const WorkerShare share = share_of_worker(node_, count, index);
    if (!share.plan.empty()) logging::info(share.plan);
    return derived(share.node,
                   share.node == node_ ? part_ : fmt::format("{}{}/{} ", part_, index, count));
  }
  std::shared_ptr<BatchSource> divide(int64_t parts) const override {
    return parts == 1 ? derived(node_, part_) : derived(make_divide(node_, parts), part_);
  }
  std::string to_bytes() const override { return serialize(Dataset(node_)).to_bytes(); }

 private:
  AutoShardPolicy policy() const { return node_->options().distribute.auto_shard_policy; }
  std::shared_ptr<BatchSource> derived(NodePtr node, std::string part) const {
    return std::make_shared<DatasetSource>(std::move(node), counter_, std::move(part));
  }

  NodePtr node_;
  NodePtr counter_;
  std::string part_;  // which shard of the dataset this is
};

}  // namespace

std::shared_ptr<BatchSource> make_batch_source(NodePtr node) {
  return std::make_shared<DatasetSource>(node, node, "");
}

}  // namespace cornu::data
