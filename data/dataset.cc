// SPDX-License-Identifier: Apache-2.0
#include "data/dataset.h"

#include "data/dataset_source.h"
#include "data/sources/sources.h"
#include "data/transforms/transforms.h"

namespace cornu::data {

Dataset Dataset::from_tensor_slices(const Element& tensors) {
  return Dataset(make_tensor_slices(tensors));
}
Dataset Dataset::from_tensors(const Element& tensors) { return Dataset(make_tensors(tensors)); }
Dataset Dataset::from_generator(Generator generator, const GeneratorOptions& options) {
  return Dataset(make_generator(std::move(generator), options));
}
Dataset Dataset::range(int64_t start, int64_t stop, int64_t step) {
  return Dataset(make_range(start, stop, step));
}
Dataset Dataset::list_files(const std::vector<std::string>& patterns,
                            const ListFilesOptions& options) {
  return Dataset(make_list_files(patterns, options));
}
Dataset Dataset::zip(const std::vector<Dataset>& datasets) {
  std::vector<NodePtr> inputs;
  for (const Dataset& dataset : datasets) inputs.push_back(dataset.node_);
  return Dataset(make_zip(std::move(inputs)));
}

Dataset Dataset::shuffle(int64_t buffer_size, const ShuffleOptions& options) const {
  return Dataset(make_shuffle(node_, buffer_size, options));
}
Dataset Dataset::batch(int64_t batch_size, const BatchOptions& options) const {
  return Dataset(make_batch(node_, batch_size, options));
}
Dataset Dataset::mapped(MapFunction f, const MapOptions& options) const {
  return Dataset(make_map(node_, std::move(f), options));
}
Dataset Dataset::filtered(MapFunction predicate) const {
  return Dataset(make_filter(node_, std::move(predicate)));
}
Dataset Dataset::repeat(int64_t count) const { return Dataset(make_repeat(node_, count)); }
Dataset Dataset::take(int64_t count) const { return Dataset(make_take(node_, count)); }
Dataset Dataset::skip(int64_t count) const { return Dataset(make_skip(node_, count)); }
Dataset Dataset::cache() const { return Dataset(make_cache(node_)); }
Dataset Dataset::prefetch(int64_t buffer_size) const {
  return Dataset(make_prefetch(node_, buffer_size));
}
Dataset Dataset::enumerate(int64_t start) const { return Dataset(make_enumerate(node_, start)); }
Dataset Dataset::concatenate(const Dataset& other) const {
  return Dataset(make_concatenate(node_, other.node_));
}
Dataset Dataset::shard(int64_t count, int64_t index) const {
  return Dataset(make_shard(node_, count, index));
}
Dataset Dataset::with_options(const Options& options) const {
  return Dataset(make_with_options(node_, options));
}

std::optional<int64_t> Dataset::cardinality() const { return node_->cardinality(); }
const ElementSpec& Dataset::element_spec() const { return node_->spec(); }
Options Dataset::options() const { return node_->options(); }
Iterator Dataset::iterator() const { return Iterator(node_); }

Dataset::operator std::shared_ptr<BatchSource>() const { return make_batch_source(node_); }

}  // namespace cornu::data
