// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/distributed_dataset.h"

#include <string>

#include "framework/strategy/strategy.h"

namespace cornu::distribute {

void agree_on_order(StrategyImpl& strategy, const BatchSource& source) {
  if (strategy.num_workers() == 1) return;
  const std::vector<uint64_t> own = source.order_keys();
  Json text = Json::array();
  for (const uint64_t key : own) text.push_back(static_cast<int64_t>(key));
  std::vector<int64_t> furthest;
  for (const std::string& said : strategy.exchange("the order of a dataset", text.dump())) {
    const std::vector<int64_t> theirs = Json::parse(said).as_ints();
    // Those of another dataset: what compares workers' datasets says so, or each has its own.
    if (theirs.size() != own.size() || own.empty()) return;
    if (furthest.empty() || theirs.back() > furthest.back()) furthest = theirs;
  }
  source.set_order_keys({furthest.begin(), furthest.end()});
}

std::optional<int64_t> DistributedDataset::cardinality() const {
  const std::optional<int64_t> batches = source_->cardinality();
  if (divided_ == Divided::No || !batches || *batches == kInfiniteCardinality) return batches;
  const auto replicas = static_cast<int64_t>(strategy_->devices().size());
  return (*batches + replicas - 1) / replicas;
}

DistributedIterator DistributedDataset::iterator() const {
  return {strategy_, source_->iterate(), divided_};
}

// Empty at the end.
std::vector<Batch> DistributedIterator::next_parts() {
  Batch batch;
  if (!source_->next(batch)) return {};
  if (divided_ == Divided::No) return strategy_->split(batch);
  std::vector<Batch> parts = {batch};
  while (parts.size() < strategy_->devices().size()) {
    parts.push_back(source_->next(batch) ? batch : rows_of(parts.front(), 0, 0));
  }
  return parts;
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

// Global batches are the same for any number of replicas: 0.
Json DistributedIterator::save() const {
  const auto replicas = static_cast<int64_t>(strategy_->devices().size());
  return Json::object({{"source", source_->save()},
                       {"replicas", divided_ == Divided::Yes ? replicas : int64_t{0}}});
}

void DistributedIterator::restore(const Json& position) {
  const auto replicas = static_cast<int64_t>(strategy_->devices().size());
  const int64_t saved = position.at("replicas").as_int();
  check<FailedPrecondition>(
      saved == (divided_ == Divided::Yes ? replicas : 0),
      "DistributedDataset: the position was saved {}, but here {}. Start from the beginning, or "
      "distribute the dataset as it was.",
      saved == 0 ? "among global batches" : fmt::format("among batches of {} replicas", saved),
      divided_ == Divided::No ? "batches are global"
                              : fmt::format("each of {} replicas has its own", replicas));
  source_->restore(position.at("source"));
}

DistributedDataset::Cursor& DistributedDataset::Cursor::operator++() {
  check<OutOfRange>(!ended_,
                    "DistributedDataset: an iterator at the end was moved on. Compare it "
                    "with end().");
  ended_ = !iterator_.next(batch_);
  return *this;
}

}  // namespace cornu::distribute
