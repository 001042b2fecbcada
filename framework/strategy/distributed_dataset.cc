// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/distributed_dataset.h"

#include <string>

#include "framework/ops/ops.h"
#include "framework/strategy/strategy.h"
#include "framework/strategy/streams.h"

namespace cornu::distribute {

void agree_on_order(StrategyImpl& strategy, const BatchSource& source) {
  if (strategy.num_workers() == 1) return;
  const std::vector<uint64_t> own = source.order_keys();
  Json text = Json::array();
  for (const uint64_t key : own) text.push_back(static_cast<int64_t>(key));
  std::vector<int64_t> furthest;
  for (const std::string& said : strategy.exchange("the order of a dataset", text.dump())) {
    const std::vector<int64_t> theirs = Json::parse(said).as_ints();
    // The keys are another dataset's: the comparison of the workers' datasets reports that, or each
    // worker has its own dataset.
    if (theirs.size() != own.size() || own.empty()) return;
    if (furthest.empty() || theirs.back() > furthest.back()) furthest = theirs;
  }
  source.set_order_keys({furthest.begin(), furthest.end()});
}

DistributedDataset DistributedDataset::of_global(std::shared_ptr<StrategyImpl> strategy,
                                                 std::shared_ptr<BatchSource> dataset) {
  std::shared_ptr<BatchSource> own = strategy->distribute(dataset);
  agree_on_order(*strategy, *own);
  return {std::move(strategy), std::move(own), std::move(dataset)};
}

DistributedDataset DistributedDataset::of_replicas(std::shared_ptr<StrategyImpl> strategy,
                                                   std::shared_ptr<BatchSource> own) {
  return {std::move(strategy), std::move(own), nullptr};
}

std::optional<int64_t> DistributedDataset::cardinality() const {
  const std::optional<int64_t> batches = own_->cardinality();
  if (global_ || batches == kInfiniteCardinality) return batches;
  if (!batches || strategy_->num_workers() > 1) return {};
  return streams::parts_of(*batches, static_cast<int64_t>(strategy_->devices().size()));
}

DistributedIterator DistributedDataset::iterator() const {
  if (global_) return {strategy_, own_->iterate()};
  const bool is_endless = own_->cardinality() == kInfiniteCardinality;
  return {strategy_,
          ReplicaBatches(strategy_, own_->iterate(), is_endless, strategy_->devices().size())};
}

namespace {

// A worker's part of a step, to be divided again by its replicas.
Tensors joined(const std::vector<Batch>& parts, Tensors Batch::*member) {
  const Tensors& first = parts.front().*member;
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < first.size(); ++i) {
    std::vector<Tensor> rows;
    for (const Batch& part : parts) rows.push_back((part.*member)[i]);
    tensors.push_back(first[i].rank() == 0 ? first[i] : ops::concatenate(rows));
  }
  return first.with(std::move(tensors));
}

Batch joined(std::vector<Batch> parts) {
  while (parts.size() > 1 && examples_of(parts.back()) == 0) parts.pop_back();
  if (parts.size() == 1) return std::move(parts.front());
  return {.x = joined(parts, &Batch::x),
          .y = joined(parts, &Batch::y),
          .sample_weight = joined(parts, &Batch::sample_weight)};
}

class JoinedParts : public BatchIterator {
 public:
  explicit JoinedParts(DistributedIterator parts) : parts_(std::move(parts)) {}

  bool next(Batch& batch) override {
    std::vector<Batch> parts = parts_.next_parts();
    if (parts.empty()) return false;
    batch = joined(std::move(parts));
    return true;
  }
  Json save() const override { return parts_.save(); }
  void restore(const Json& position) override { parts_.restore(position); }

 private:
  DistributedIterator parts_;
};

}  // namespace

// A source whose batches, which already belong to this worker, aren't divided between workers
// again.
class DistributedDataset::Source : public BatchSource {
 public:
  explicit Source(DistributedDataset dataset) : dataset_(std::move(dataset)) {}

  std::unique_ptr<BatchIterator> iterate() const override {
    const StrategyImpl& own = *dataset_.strategy_;
    const StrategyImpl& here = get_strategy().impl();
    check<FailedPrecondition>(
        &own == &here || (own.is_default() && here.is_default()),
        "DistributedDataset was distributed by strategy '{}', but the model that goes through it "
        "is of {}. Make and compile the model in that strategy's scope, or give it the dataset "
        "itself.",
        own.name(),
        here.is_default() ? "no strategy" : fmt::format("another one, '{}'", here.name()));
    if (dataset_.global_) return dataset_.own_->iterate();
    return std::make_unique<JoinedParts>(dataset_.iterator());
  }
  std::optional<int64_t> cardinality() const override { return dataset_.cardinality(); }
  // Workers' own batches may differ in every respect.
  Json facts() const override {
    return dataset_.global_ ? dataset_.global_->facts() : Json::object();
  }
  std::vector<uint64_t> order_keys() const override {
    return dataset_.global_ ? dataset_.own_->order_keys() : std::vector<uint64_t>();
  }
  void set_order_keys(const std::vector<uint64_t>& keys) const override {
    if (dataset_.global_) dataset_.own_->set_order_keys(keys);
  }
  std::shared_ptr<BatchSource> shard(int64_t, int64_t) const override { return dataset_; }
  std::shared_ptr<BatchSource> divide(int64_t) const override { return dataset_; }

 private:
  DistributedDataset dataset_;
};

DistributedDataset::operator std::shared_ptr<BatchSource>() const {
  return std::make_shared<Source>(*this);
}

std::vector<Batch> DistributedIterator::next_parts() {
  if (auto* own = std::get_if<ReplicaBatches>(&batches_)) return own->next();
  Batch batch;
  if (!std::get<0>(batches_)->next(batch)) return {};
  return strategy_->split(batch);
}

bool DistributedIterator::next(PerReplica& batch) {
  std::vector<std::vector<Tensors>> arguments;
  for (Batch& part : next_parts()) {
    std::vector<Tensors>& own = arguments.emplace_back();
    own.push_back(std::move(part.x));
    for (Tensors* more : {&part.y, &part.sample_weight}) {
      if (!more->empty()) own.push_back(std::move(*more));
    }
  }
  if (arguments.empty()) return false;
  batch = PerReplica::of_arguments(std::move(arguments));
  return true;
}

namespace {

// The owners of the batches that a position refers to. Global batches are independent of the number
// of replicas: 0.
struct Owners {
  int64_t replicas = 0;
  int64_t workers = 1;

  static Owners of(const Json& position) {
    const auto count = [&](const char* name, int64_t least) {
      const Json* found = position.find(name);
      return found && found->is_int() && found->as_int() >= least;
    };
    const bool has_workers = position.is_object() && position.contains("workers");
    check<DataLoss>(position.is_object() && position.contains("source") && count("replicas", 0) &&
                        (!has_workers || count("workers", 2)),
                    "DistributedDataset: expected a position, which an iterator's save() gives (an "
                    "object of source and replicas), got {}.",
                    position.excerpt());
    return {.replicas = position.at("replicas").as_int(),
            .workers = has_workers ? position.at("workers").as_int() : 1};
  }
  bool operator==(const Owners&) const = default;
  std::string text() const {
    if (replicas == 0) return "among global batches";
    return fmt::format("among batches of {} replicas{}", replicas,
                       workers > 1 ? fmt::format(" of each of {} workers", workers) : "");
  }
};

}  // namespace

Json DistributedIterator::save() const {
  const auto* own = std::get_if<ReplicaBatches>(&batches_);
  if (!own) return Json::object({{"source", std::get<0>(batches_)->save()}, {"replicas", 0}});
  Json position = Json::object(
      {{"source", own->save()}, {"replicas", static_cast<int64_t>(strategy_->devices().size())}});
  if (strategy_->num_workers() > 1) position.set("workers", strategy_->num_workers());
  return position;
}

void DistributedIterator::restore(const Json& position) {
  auto* own = std::get_if<ReplicaBatches>(&batches_);
  const Owners here = own ? Owners{.replicas = static_cast<int64_t>(strategy_->devices().size()),
                                   .workers = strategy_->num_workers()}
                          : Owners();
  const Owners then = Owners::of(position);
  check<FailedPrecondition>(then == here,
                            "DistributedDataset: the position was saved {}, but here it is {}. "
                            "Start from the beginning, or distribute the dataset as it was.",
                            then.text(), here.text());
  own ? own->restore(position.at("source")) : std::get<0>(batches_)->restore(position.at("source"));
}

DistributedDataset::Cursor& DistributedDataset::Cursor::operator++() {
  check<OutOfRange>(!ended_,
                    "DistributedDataset: an iterator at the end was moved on. Compare it "
                    "with end().");
  ended_ = !iterator_.next(batch_);
  return *this;
}

}  // namespace cornu::distribute
