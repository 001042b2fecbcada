// SPDX-License-Identifier: Apache-2.0
#include "data/py_dataset.h"

#include <utility>

#include "data/dataset.h"
#include "data/dataset_source.h"
#include "framework/core/at_end.h"
#include "framework/core/user_code.h"
#include "framework/strategy/source_over.h"

namespace cornu::data {
namespace {

using Owner = std::shared_ptr<PyDataset>;

// A dataset's batches, or a worker's part of them, together with the object that computes them.
class OwnedSource : public SourceOver {
 public:
  OwnedSource(Owner owner, std::shared_ptr<BatchSource> batches)
      : SourceOver(std::move(batches)), owner_(std::move(owner)) {}

  std::unique_ptr<BatchIterator> iterate() const override;
  std::shared_ptr<BatchSource> shard(int64_t count, int64_t index) const override {
    return std::make_shared<OwnedSource>(owner_, source()->shard(count, index));
  }
  std::shared_ptr<BatchSource> divide(int64_t parts) const override {
    return std::make_shared<OwnedSource>(owner_, source()->divide(parts));
  }

 private:
  Owner owner_;
};

// Starts prefetching only after the owner has been notified that a pass begins.
class OwnedIterator : public BatchIterator {
 public:
  OwnedIterator(Owner owner, std::shared_ptr<BatchSource> batches)
      : owner_(std::move(owner)), batches_(std::move(batches)) {}

  bool next(Batch& batch) override {
    if (begun().next(batch)) return true;
    if (!std::exchange(ended_, true)) owner_->on_epoch_end();
    return false;
  }
  Json save() const override { return begun().save(); }
  void restore(const Json& position) override { begun().restore(position); }
  void restore_examples(const Json& position) override { begun().restore_examples(position); }

 private:
  BatchIterator& begun() const {
    if (!passing_) {
      owner_->on_epoch_begin();
      passing_ = batches_->iterate();
    }
    return *passing_;
  }

  Owner owner_;
  std::shared_ptr<BatchSource> batches_;
  mutable std::unique_ptr<BatchIterator> passing_;  // must end before its owner
  bool ended_ = false;
};

std::unique_ptr<BatchIterator> OwnedSource::iterate() const {
  return std::make_unique<OwnedIterator>(owner_, source());
}

Element element_of(const Batch& batch) {
  check<InvalidArgument>(!batch.x.empty(),
                         "expected a batch with data for the model, got one "
                         "without x.");
  check<InvalidArgument>(!batch.y.empty() || batch.sample_weight.empty(),
                         "expected targets along with sample weights, got none.");
  std::vector<Tensors> components = {batch.x};
  for (const Tensors& part : {batch.y, batch.sample_weight}) {
    if (!part.empty()) components.push_back(part);
  }
  return Element(components);
}

}  // namespace

PyDataset::PyDataset(const PyDatasetOptions& options) : options_(options) {
  check<InvalidArgument>(options.workers >= 1, "PyDataset: expected workers >= 1, got {}.",
                         options.workers);
  check<InvalidArgument>(options.max_queue_size >= 1,
                         "PyDataset: expected max_queue_size >= 1, got {}.",
                         options.max_queue_size);
}

std::shared_ptr<BatchSource> PyDataset::source(bool shuffled) const {
  const std::shared_ptr<const PyDataset> shared = weak_from_this().lock();
  check<FailedPrecondition>(shared != nullptr,
                            "PyDataset: expected an object that a shared_ptr owns, as "
                            "std::make_shared makes it, got another one.");
  const Owner owner = std::const_pointer_cast<PyDataset>(shared);
  const std::lock_guard lock(mutex_);
  check<FailedPrecondition>(!learning_,
                            "PyDataset: num_batches() or get_item(0) requested the dataset's own "
                            "batches, which can't exist before these two return.");
  std::shared_ptr<BatchSource>& batches = batches_[shuffled];
  if (!batches) {
    learning_ = true;
    const AtEnd learned([&] { learning_ = false; });
    const int64_t count = num_batches();
    check<InvalidArgument>(count >= 0 || count == kInfiniteCardinality,
                           "PyDataset: expected num_batches() >= 0, or kInfiniteCardinality, got "
                           "{}.",
                           count);
    Dataset numbers = count < 0 ? Dataset::counter() : Dataset::range(count);
    if (shuffled && count > 1) numbers = numbers.shuffle(count);
    // The owner holds the function, and outlives all its callers.
    const auto make = [self = owner.get()](const Tensor& number) {
      const auto index = number.item<int64_t>();
      return with_place([&] { return fmt::format("PyDataset, batch {}", index); },
                        [&] { return element_of(self->get_item(index)); });
    };
    MapOptions how = {.traced = false};
    if (options_.workers > 1) how.num_parallel_calls = options_.workers;
    if (count == 0) how.output_signature = spec_of(Element(Tensor::empty({0, 1}, DType::Float32)));
    Dataset made = numbers.map(make, how);
    if (options_.workers > 1) made = made.prefetch(options_.max_queue_size);
    batches = made;
  }
  return std::make_shared<OwnedSource>(owner, batches);
}

std::unique_ptr<BatchIterator> PyDataset::iterate() const { return source(false)->iterate(); }
std::optional<int64_t> PyDataset::cardinality() const { return source(false)->cardinality(); }
Json PyDataset::facts() const { return source(false)->facts(); }
std::vector<uint64_t> PyDataset::order_keys() const { return source(false)->order_keys(); }
void PyDataset::set_order_keys(const std::vector<uint64_t>& keys) const {
  source(false)->set_order_keys(keys);
}
std::shared_ptr<BatchSource> PyDataset::shard(int64_t count, int64_t index) const {
  return source(false)->shard(count, index);
}
std::shared_ptr<BatchSource> PyDataset::divide(int64_t parts) const {
  return source(false)->divide(parts);
}
std::shared_ptr<BatchSource> PyDataset::shuffled() const { return source(true); }

}  // namespace cornu::data
