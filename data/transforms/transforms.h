// SPDX-License-Identifier: Apache-2.0
// What datasets are transformed by. One file a transform; Dataset's functions of these names
// document them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/map_function.h"
#include "data/node.h"
#include "data/saved_dataset.h"

namespace cornu::data {

using DatasetOfElement = std::function<NodePtr(const Element&)>;
// Of a key.
using WindowSize = std::function<int64_t(int64_t key)>;
// Of a key and the elements that have it.
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
// `text`: what the sizes depend on.
NodePtr make_group_by_window(NodePtr input, MapFunction key, ReduceWindow reduce, WindowSize size,
                             const std::string& text, const std::optional<ElementSpec>& signature);
// The same of elements with keys (make_keyed). `write`: what another process makes it of; null:
// nothing.
using WriteLink = std::function<void(LinkWriter& link)>;
NodePtr make_grouped(NodePtr keyed, const ElementSpec& element, ReduceWindow reduce,
                     WindowSize size, const std::string& text,
                     const std::optional<ElementSpec>& signature, WriteLink write);
NodePtr make_ignore_errors(NodePtr input, const IgnoreErrorsOptions& options);
NodePtr make_interleave(NodePtr input, DatasetOfElement f, const InterleaveOptions& options);
// `who`: what its errors name.
NodePtr make_map(NodePtr input, MapFunction f, const MapOptions& options, const char* who = "map");
// What the function of `mapped`, which make_map gave, makes of the elements of `input`, which are
// of the kind of its own input's.
StreamPtr<Element> mapped_elements(const Node& mapped, StreamPtr<Element> input, Pass pass);
bool is_map(const Node& node);
NodePtr make_padded_batch(NodePtr input, int64_t batch_size, const PaddedBatchOptions& options);
NodePtr make_prefetch(NodePtr input, int64_t buffer_size);
// What `make` makes of `input`; where that ends with a prefetch, of what is prefetched, and
// prefetched in turn: nobody works ahead on what `make` leaves out.
NodePtr below_prefetch(NodePtr input, const std::function<NodePtr(NodePtr)>& make);
// Where `input` is a map that may as well come last, the map of what `batch` (or `shuffle`) makes
// of the map's input: batches are then computed in one call, and rows of a table are shuffled by
// number. Null otherwise. What comes is the same.
NodePtr batch_below_map(const NodePtr& input, const std::function<NodePtr(NodePtr)>& batch);
NodePtr shuffle_below_map(const NodePtr& input, const std::function<NodePtr(NodePtr)>& shuffle);
NodePtr make_ragged_batch(NodePtr input, int64_t batch_size, const RaggedBatchOptions& options);
// See BatchSource::divide.
NodePtr make_divide(NodePtr input, int64_t parts);
NodePtr make_rejection_resample(NodePtr input, MapFunction class_func, std::vector<double> target,
                                const RejectionResampleOptions& options);
NodePtr make_repeat(NodePtr input, int64_t count);
NodePtr make_sample(std::vector<NodePtr> inputs, SampleFromDatasetsOptions options);
// `f` takes a state and an element, and gives the next state and an element.
NodePtr make_scan(NodePtr input, const Element& initial, MapFunction f, const char* who);
NodePtr make_shard(NodePtr input, int64_t count, int64_t index);
// For workers: batches of which every shard has as many, the last ones with no rows where need be.
NodePtr make_even_shard(NodePtr input, int64_t count, int64_t index);
// A worker's part of what `node` gives: over sources that each give a part of their items, where
// that is the same examples; else every count-th of its own.
NodePtr make_sharded_sources(const NodePtr& node, const WorkerPart& part);
NodePtr make_shuffle(NodePtr input, int64_t buffer_size, const ShuffleOptions& options);
NodePtr make_skip(NodePtr input, int64_t count);
NodePtr make_snapshot(NodePtr input, const std::string& folder, SnapshotOptions options);
NodePtr make_take(NodePtr input, int64_t count);
NodePtr make_take_while(NodePtr input, MapFunction predicate);
NodePtr make_unbatch(NodePtr input);
NodePtr make_unique(NodePtr input);
NodePtr make_with_options(NodePtr input, const Options& options);
// `structure`: of the inputs, in place of its tensors.
NodePtr make_zip(std::vector<NodePtr> inputs, Structure structure);

}  // namespace cornu::data
