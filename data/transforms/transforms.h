// SPDX-License-Identifier: Apache-2.0
// Transforms of datasets, each in a file of its own. They are documented with Dataset's functions
// of the same names.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/map_function.h"
#include "data/node.h"
#include "data/saved_dataset.h"

namespace cornu::data {

using DatasetOfElement = std::function<NodePtr(const Element&)>;
// The window size for a key.
using WindowSize = std::function<int64_t(int64_t key)>;
// Makes a dataset of the elements that have a key.
using ReduceWindow = std::function<NodePtr(int64_t key, NodePtr elements)>;

NodePtr make_assert_cardinality(NodePtr input, int64_t count);
NodePtr make_batch(NodePtr input, int64_t batch_size, const BatchOptions& options);
NodePtr make_bucket(NodePtr input, MapFunction length, std::vector<int64_t> boundaries,
                    std::vector<int64_t> sizes, const BucketOptions& options);
NodePtr make_cache(NodePtr input);
NodePtr make_choose(std::vector<NodePtr> inputs, NodePtr choices,
                    const ChooseFromDatasetsOptions& options);
NodePtr make_concatenate(NodePtr first, NodePtr second);
NodePtr make_enumerate(NodePtr input, int64_t start);
NodePtr make_file_cache(NodePtr input, const std::string& filename);
NodePtr make_filter(NodePtr input, MapFunction predicate);
NodePtr make_flat_map(NodePtr input, DatasetOfElement f, const FlatMapOptions& options);
// `text` describes what the sizes depend on.
NodePtr make_group_by_window(NodePtr input, MapFunction key, ReduceWindow reduce, WindowSize size,
                             const std::string& text, const std::optional<ElementSpec>& signature);
// Overload for elements with keys (make_keyed). `write` serializes the link; if null, it can't be
// serialized.
using WriteLink = std::function<void(LinkWriter& link)>;
NodePtr make_grouped(NodePtr keyed, const ElementSpec& element, ReduceWindow reduce,
                     WindowSize size, const std::string& text,
                     const std::optional<ElementSpec>& signature, WriteLink write);
NodePtr make_ignore_errors(NodePtr input, const IgnoreErrorsOptions& options);
NodePtr make_interleave(NodePtr input, DatasetOfElement f, const InterleaveOptions& options);
// `who`: the name used in errors.
NodePtr make_map(NodePtr input, MapFunction f, const MapOptions& options, const char* who = "map");
// Applies the function of `mapped`, a result of make_map, to the elements of `input`, which must
// have the same spec as its own input.
StreamPtr<Element> mapped_elements(const Node& mapped, StreamPtr<Element> input, Pass pass);
bool is_map(const Node& node);
NodePtr make_padded_batch(NodePtr input, int64_t batch_size, const PaddedBatchOptions& options);
NodePtr make_prefetch(NodePtr input, int64_t buffer_size);
// Returns make(input); if `input` ends with a prefetch, applies `make` to what is prefetched and
// prefetches the result, so that elements dropped by `make` aren't prefetched.
NodePtr below_prefetch(NodePtr input, const std::function<NodePtr(NodePtr)>& make);
// If `input` is a map that can be moved to the end without changing the elements, returns the map
// applied to the `batch` (or `shuffle`) of the map's input: a batch is then computed in one call,
// and rows of a table are shuffled by index. Null otherwise.
NodePtr batch_below_map(const NodePtr& input, const std::function<NodePtr(NodePtr)>& batch);
NodePtr shuffle_below_map(const NodePtr& input, const std::function<NodePtr(NodePtr)>& shuffle);
NodePtr make_ragged_batch(NodePtr input, int64_t batch_size, const RaggedBatchOptions& options);
// See BatchSource::divide.
NodePtr make_divide(NodePtr input, int64_t parts);
NodePtr make_rejection_resample(NodePtr input, MapFunction class_func, std::vector<double> target,
                                const RejectionResampleOptions& options);
NodePtr make_repeat(NodePtr input, int64_t count);
NodePtr make_sample(std::vector<NodePtr> inputs, SampleFromDatasetsOptions options);
// `f` takes a state and an element, and returns the next state and an element.
NodePtr make_scan(NodePtr input, const Element& initial, MapFunction f, const char* who);
NodePtr make_shard(NodePtr input, int64_t count, int64_t index);
// A shard of batches for workers: every shard has the same number of batches, the last ones with no
// rows where necessary.
NodePtr make_even_shard(NodePtr input, int64_t count, int64_t index);
// A worker's part of the elements of `node`: built on parts of its sources if that yields the same
// examples overall; otherwise every count-th of its elements.
NodePtr make_sharded_sources(const NodePtr& node, const WorkerPart& part);
NodePtr make_shuffle(NodePtr input, int64_t buffer_size, const ShuffleOptions& options);
NodePtr make_skip(NodePtr input, int64_t count);
NodePtr make_snapshot(NodePtr input, const std::string& folder, SnapshotOptions options);
NodePtr make_take(NodePtr input, int64_t count);
NodePtr make_take_while(NodePtr input, MapFunction predicate);
NodePtr make_unbatch(NodePtr input);
NodePtr make_unique(NodePtr input);
NodePtr make_with_options(NodePtr input, const Options& options);
// `structure` contains the inputs instead of tensors.
NodePtr make_zip(std::vector<NodePtr> inputs, Structure structure);

}  // namespace cornu::data
