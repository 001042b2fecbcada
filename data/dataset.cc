// SPDX-License-Identifier: Apache-2.0
#include "data/dataset.h"

#include "data/dataset_source.h"
#include "data/sources/host.h"
#include "data/sources/sources.h"
#include "data/transforms/transforms.h"
#include "data/transforms/windows_node.h"
#include "framework/core/user_code.h"

namespace cornu::data {
namespace {

int64_t checked_count(int64_t count, const char* who, const char* minus_one) {
  check<InvalidArgument>(count >= -1, "{}: expected a count of 0 or more, or -1 ({}), got {}.", who,
                         minus_one, count);
  return count;
}

std::vector<NodePtr> nodes_of(const std::vector<Dataset>& datasets) {
  std::vector<NodePtr> nodes;
  for (const Dataset& dataset : datasets) nodes.push_back(dataset.node());
  return nodes;
}

MakeNode make_node(DatasetFunction f) {
  return [f = std::move(f)](const Element& element) { return f(element).node(); };
}

}  // namespace

NestedDatasets::NestedDatasets(const std::vector<Dataset>& members)
    : datasets_(members), structure_(Structure::tuple(std::vector<Structure>(members.size()))) {}
NestedDatasets::NestedDatasets(std::initializer_list<NestedDatasets> members)
    : NestedDatasets(tuple(members)) {}
NestedDatasets::NestedDatasets(std::initializer_list<Named> members)
    : NestedDatasets(dict(members)) {}

NestedDatasets NestedDatasets::tuple(const std::vector<NestedDatasets>& members) {
  NestedDatasets all;
  std::vector<Structure> parts;
  for (const NestedDatasets& member : members) parts.push_back(all.add(member));
  all.structure_ = Structure::tuple(std::move(parts));
  return all;
}
NestedDatasets NestedDatasets::dict(const std::vector<Named>& members) {
  NestedDatasets all;
  std::vector<std::pair<std::string, Structure>> parts;
  for (const auto& [name, member] : members) parts.emplace_back(name, all.add(member));
  all.structure_ = Structure::dict(std::move(parts));
  return all;
}

const Structure& NestedDatasets::add(const NestedDatasets& member) {
  datasets_.insert(datasets_.end(), member.datasets_.begin(), member.datasets_.end());
  return member.structure_;
}

Dataset Dataset::from_tensor_slices(const Element& tensors) {
  return Dataset(make_tensor_slices(tensors));
}
Dataset Dataset::from_tensors(const Element& tensors) { return Dataset(make_tensors(tensors)); }
Dataset Dataset::from_generator(Generator generator, const GeneratorOptions& options) {
  return Dataset(make_generator(std::move(generator), options));
}
Dataset Dataset::range(int64_t start, int64_t stop, int64_t step, const RangeOptions& options) {
  return Dataset(make_range(start, stop, step, options.output_type));
}
Dataset Dataset::list_files(const std::vector<std::string>& patterns,
                            const ListFilesOptions& options) {
  return Dataset(make_list_files(patterns, options));
}
Dataset Dataset::zip(const NestedDatasets& datasets) {
  return Dataset(make_zip(nodes_of(datasets.datasets()), datasets.structure()));
}
Dataset Dataset::counter(int64_t start, int64_t step, DType dtype) {
  return Dataset(make_counter(start, step, dtype));
}
Dataset Dataset::random(const RandomOptions& options) { return Dataset(make_random(options)); }
Dataset Dataset::sample_from_datasets(const std::vector<Dataset>& datasets,
                                      const SampleFromDatasetsOptions& options) {
  return Dataset(make_sample(nodes_of(datasets), options));
}
Dataset Dataset::choose_from_datasets(const std::vector<Dataset>& datasets,
                                      const Dataset& choice_dataset,
                                      const ChooseFromDatasetsOptions& options) {
  return Dataset(make_choose(nodes_of(datasets), choice_dataset.node(), options));
}

Dataset Dataset::shuffle(int64_t buffer_size, const ShuffleOptions& options) const {
  return Dataset(make_shuffle(node(), buffer_size, options));
}
Dataset Dataset::batch(int64_t batch_size, const BatchOptions& options) const {
  return Dataset(make_batch(node(), batch_size, options));
}
Dataset Dataset::mapped(MapFunction f, const MapOptions& options) const {
  return Dataset(make_map(node(), std::move(f), options));
}
Dataset Dataset::filtered(MapFunction predicate) const {
  return Dataset(make_filter(node(), std::move(predicate)));
}
Dataset Dataset::taken_while(MapFunction predicate) const {
  return Dataset(make_take_while(node(), std::move(predicate)));
}
Dataset Dataset::padded_batch(int64_t batch_size, const PaddedBatchOptions& options) const {
  return Dataset(make_padded_batch(node(), batch_size, options));
}
Dataset Dataset::ragged_batch(int64_t batch_size, const RaggedBatchOptions& options) const {
  return Dataset(make_ragged_batch(node(), batch_size, options));
}
Dataset Dataset::unbatch() const { return Dataset(make_unbatch(node())); }
Dataset Dataset::flat_mapped(DatasetFunction f, const FlatMapOptions& options) const {
  return Dataset(make_flat_map(node(), make_node(std::move(f)), options));
}
Dataset Dataset::interleaved(DatasetFunction f, const InterleaveOptions& options) const {
  return Dataset(make_interleave(node(), make_node(std::move(f)), options));
}
Windows Dataset::window(int64_t size, const WindowOptions& options) const {
  return Windows(std::make_shared<WindowSource>(node(), size, options));
}
Dataset Dataset::grouped(MapFunction key, ReduceFunction reduce,
                         std::function<int64_t(int64_t)> size, const std::string& text,
                         const GroupByWindowOptions& options) const {
  const auto make = [reduce = given_function(std::move(reduce), "group_by_window")](
                        int64_t of, NodePtr elements) {
    return reduce(of, Dataset(std::move(elements))).node();
  };
  return Dataset(make_group_by_window(node(), std::move(key), make,
                                      given_function(std::move(size), "group_by_window"), text,
                                      options.output_signature));
}
Dataset Dataset::bucketed(MapFunction length, std::vector<int64_t> boundaries,
                          std::vector<int64_t> sizes, const BucketOptions& options) const {
  return Dataset(
      make_bucket(node(), std::move(length), std::move(boundaries), std::move(sizes), options));
}
Dataset Dataset::scanned(const Element& initial, MapFunction f) const {
  return Dataset(make_scan(node(), initial, std::move(f), "scan"));
}
Element Dataset::reduced(const Element& initial, MapFunction f) const {
  const auto both = [f = std::move(f)](const Element& element) {
    const Element state = f(element);
    return Element::tuple({state, state});
  };
  Element last = on_host(initial, "reduce");
  for (const Element& state : Dataset(make_scan(node(), last, both, "reduce"))) last = state;
  return last;
}
Dataset Dataset::unique() const { return Dataset(make_unique(node())); }
Dataset Dataset::resampled(MapFunction class_func, std::vector<double> target,
                           const RejectionResampleOptions& options) const {
  return Dataset(
      make_rejection_resample(node(), std::move(class_func), std::move(target), options));
}
Dataset Dataset::assert_cardinality(int64_t count) const {
  return Dataset(make_assert_cardinality(node(), count));
}
Dataset Dataset::ignore_errors(const IgnoreErrorsOptions& options) const {
  return Dataset(make_ignore_errors(node(), options));
}
Element Dataset::get_single_element() const {
  auto elements = iterator();
  Element element;
  Element other;
  check<InvalidArgument>(elements.next(element),
                         "get_single_element: expected a dataset of one element, got none.");
  check<InvalidArgument>(!elements.next(other),
                         "get_single_element: expected a dataset of one element, got more.");
  return element;
}
Dataset Dataset::repeat(int64_t count) const {
  return Dataset(make_repeat(node(), checked_count(count, "repeat", "without end")));
}
Dataset Dataset::take(int64_t count) const {
  return Dataset(make_take(node(), checked_count(count, "take", "all")));
}
Dataset Dataset::skip(int64_t count) const {
  return Dataset(make_skip(node(), checked_count(count, "skip", "all of them, which leaves none")));
}
Dataset Dataset::cache(const std::string& filename) const {
  return Dataset(filename.empty() ? make_cache(node()) : make_file_cache(node(), filename));
}
Dataset Dataset::snapshot(const std::string& folder, const SnapshotOptions& options) const {
  return Dataset(make_snapshot(node(), folder, options));
}
Dataset Dataset::prefetch(int64_t buffer_size) const {
  return Dataset(make_prefetch(node(), buffer_size));
}
Dataset Dataset::enumerate(int64_t start) const { return Dataset(make_enumerate(node(), start)); }
Dataset Dataset::concatenate(const Dataset& other) const {
  return Dataset(make_concatenate(node(), other.node()));
}
Dataset Dataset::shard(int64_t count, int64_t index) const {
  return Dataset(make_shard(node(), count, index));
}
Dataset Dataset::with_options(const Options& options) const {
  return Dataset(make_with_options(node(), options));
}

std::optional<int64_t> Dataset::cardinality() const { return node()->cardinality(); }
const ElementSpec& Dataset::element_spec() const { return node()->spec(); }
Options Dataset::options() const { return node()->options(); }
Statistics Dataset::stats() const { return node()->statistics().statistics(); }
Iterator Dataset::iterator() const { return Iterator(node()); }

Dataset::operator std::shared_ptr<BatchSource>() const { return make_batch_source(node()); }

}  // namespace cornu::data
