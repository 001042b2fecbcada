// SPDX-License-Identifier: Apache-2.0
// What datasets are transformed by. One file a transform; Dataset's functions of these names
// document them.
#pragma once

#include <functional>

#include "data/map_function.h"
#include "data/node.h"

namespace cornu::data {

NodePtr make_batch(NodePtr input, int64_t batch_size, const BatchOptions& options);
NodePtr make_cache(NodePtr input);
NodePtr make_concatenate(NodePtr first, NodePtr second);
NodePtr make_enumerate(NodePtr input, int64_t start);
NodePtr make_filter(NodePtr input, MapFunction predicate);
NodePtr make_map(NodePtr input, MapFunction f, const MapOptions& options);
NodePtr make_prefetch(NodePtr input, int64_t buffer_size);
// What `make` makes of `input`; where that ends with a prefetch, of what is prefetched, and
// prefetched in turn: nobody works ahead on what `make` leaves out.
NodePtr below_prefetch(NodePtr input, const std::function<NodePtr(NodePtr)>& make);
// Where `input` is a map that may as well come last, the map of what `batch` (or `shuffle`) makes
// of the map's input: batches are then computed in one call, and rows of a table are shuffled by
// number. Null otherwise. What comes is the same.
NodePtr batch_below_map(const NodePtr& input, const std::function<NodePtr(NodePtr)>& batch);
NodePtr shuffle_below_map(const NodePtr& input, const std::function<NodePtr(NodePtr)>& shuffle);
// See BatchSource::rebatch.
NodePtr make_rebatch(NodePtr input, int64_t batch_size);
NodePtr make_repeat(NodePtr input, int64_t count);
NodePtr make_shard(NodePtr input, int64_t count, int64_t index);
// For workers: batches of which every shard has as many, the last ones with no rows where need be.
NodePtr make_even_shard(NodePtr input, int64_t count, int64_t index);
NodePtr make_shuffle(NodePtr input, int64_t buffer_size, const ShuffleOptions& options);
NodePtr make_skip(NodePtr input, int64_t count);
NodePtr make_take(NodePtr input, int64_t count);
NodePtr make_with_options(NodePtr input, const Options& options);
NodePtr make_zip(std::vector<NodePtr> inputs);

}  // namespace cornu::data
