// SPDX-License-Identifier: Apache-2.0
// Options of datasets and their transforms, with tf.data's names and defaults.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "data/element.h"
#include "framework/core/optional_list.h"

namespace cornu::data {

class Dataset;
class Node;

// Lets the library choose the size of a buffer or the number of threads (tf.data.AUTOTUNE).
inline constexpr int64_t kAutotune = -1;

// How a distribution strategy divides a dataset among workers (tf.data.experimental). All workers
// get the same number of batches; when they read different files, each one skims the others' files
// at the end of a pass, without parsing them, to find out how many.
enum class AutoShardPolicy {
  // Like File if the dataset reads files of records (also within the function of an interleave or a
  // flat_map) and the transforms that follow can be applied to parts (map, filter, batch, …, but
  // not take or zip); otherwise like Data.
  Auto,
  // Every worker takes its part of the batches and skips the others: it reads only as much of them
  // as needed to find its own, and computes nothing for them. The batches are the same as with one
  // worker.
  Data,
  File,    // every worker reads its own files; like Record if there are more workers than files
  Record,  // every worker reads its own range of each file's records
  Hint,    // at the position of shard(kShardHint, kShardHint) in the chain
  Off,     // every worker sees everything; if the workers' data differ, the longest determines the
           // length
};

// Placeholder for the number of workers and for the worker's index
// (tf.data.experimental.SHARD_HINT).
inline constexpr int64_t kShardHint = -1;

struct DistributeOptions {
  AutoShardPolicy auto_shard_policy = AutoShardPolicy::Auto;
};

// Limits on what kAutotune may choose, per iterator (as in tf.data).
struct AutotuneOptions {
  bool enabled = true;     // false: as many calls as there are cores, buffers of two elements
  int64_t cpu_budget = 0;  // maximum number of cores that a map uses; 0: all
  int64_t ram_budget = 0;  // maximum bytes of prefetched elements; 0: half of the available memory
};

// Apply to the whole pipeline, wherever they are set; see Dataset::with_options.
struct Options {
  DistributeOptions distribute = {};
  AutotuneOptions autotune = {};
  // Default for maps and batches with parallel calls (see MapOptions); nullopt: true.
  std::optional<bool> deterministic = {};
  bool statistics = false;  // measure passes for Dataset::stats(), as CORNU_DATA_STATS=1 does
};

struct ShuffleOptions {
  std::optional<int64_t> seed = {};  // nullopt: from set_random_seed's sequence
  bool reshuffle_each_iteration = true;
};

struct ListFilesOptions {
  bool shuffle = true;               // in a new order in each pass; false: sorted
  std::optional<int64_t> seed = {};  // nullopt: from set_random_seed's sequence
};

struct RangeOptions {
  DType output_type = DType::Int64;  // a numeric type; the int64 values are cast to it
};

struct BatchOptions {
  bool drop_remainder = false;  // drop a last batch that isn't full
  // How many batches may be computed at a time, ahead of the iterator; see MapOptions.
  std::optional<int64_t> num_parallel_calls = {};
  std::optional<bool> deterministic = {};  // see MapOptions
};

struct RaggedBatchOptions {
  bool drop_remainder = false;
  DType row_splits_dtype = DType::Int64;  // or int32
};

struct MapOptions {
  // How many elements may be computed at a time, ahead of the iterator, on the data threads that
  // all pipelines share (as many as there are cores); kAutotune: enough to keep the iterator from
  // waiting. The elements and their order don't change. nullopt: one after another, on the
  // iterating thread.
  std::optional<int64_t> num_parallel_calls = {};
  // If false, parallel calls return elements as soon as they are ready, unless a downstream
  // transform needs them in order. Those that don't are map, filter, batch (also padded and
  // ragged), repeat, prefetch, ignore_errors, with_options and copy_to_device, provided that they
  // don't return their own elements out of order. A restored position yields the remaining
  // elements, in any order. nullopt: as set in the pipeline's Options, true by default.
  std::optional<bool> deterministic = {};
  // The type of the results, with kUnknown for axes that vary. Needed only for functions that run
  // on the host, if the sizes of axes must be known, or if the input may have no element from which
  // to infer the type.
  std::optional<ElementSpec> output_signature = {};
  bool traced = true;  // false: the function runs on the host, op by op, even if it could be traced
};

struct PaddedBatchOptions {
  // One per tensor; kUnknown pads to the longest of the batch. Empty: the elements' own shapes.
  std::vector<Shape> padded_shapes = {};
  // Scalars, one per tensor, or one for all. Empty, and undefined entries: 0 or "".
  std::vector<Tensor> padding_values = {};
  bool drop_remainder = false;
};

// For functions that return datasets, which run on the host for each element.
struct FlatMapOptions {
  // The type of the datasets' elements, with kUnknown for axes that vary. nullopt: that of the
  // first dataset, with all axes unknown.
  std::optional<ElementSpec> output_signature = {};
};

struct InterleaveOptions {
  // How many of the datasets are read in turn; kAutotune: 16 on any machine, since the order
  // depends on it.
  int64_t cycle_length = kAutotune;
  int64_t block_length = 1;  // consecutive elements taken from a dataset
  // If more than one, the number of threads that read these datasets, ahead of the iterator;
  // kAutotune: enough to keep it from waiting, none if computing an element takes less than waking
  // a thread.
  std::optional<int64_t> num_parallel_calls = {};
  bool deterministic = true;  // false permits another order, which is currently not used
  std::optional<ElementSpec> output_signature = {};  // see FlatMapOptions
};

struct WindowOptions {
  std::optional<int64_t> shift = {};  // distance between the first elements of consecutive windows;
                                      // nullopt: size
  int64_t stride = 1;                 // distance between the elements of a window
  bool drop_remainder = false;        // drop windows that aren't full
};

struct GroupByWindowOptions {
  std::optional<ElementSpec> output_signature = {};  // see FlatMapOptions
};

struct BucketOptions {
  std::vector<Shape> padded_shapes = {};    // see PaddedBatchOptions
  std::vector<Tensor> padding_values = {};  // see PaddedBatchOptions
  bool pad_to_bucket_boundary = false;      // pad axes that vary to boundary - 1
  bool no_padding = false;                  // use batch instead of padded_batch
  bool drop_remainder = false;
};

struct RejectionResampleOptions {
  OptionalList<double> initial_dist = {};  // empty: estimated from the elements seen so far
  std::optional<int64_t> seed = {};
};

// How often each of several datasets is drawn: one weight per dataset (they needn't sum to 1), or a
// dataset of such weights, float32 or float64 vectors, one of which is consumed per draw. If it
// draws an exhausted dataset, the next weights are used; when the weights run out, the result ends.
// (If the weights never end but don't draw any of the remaining datasets, the next element never
// comes.)
struct SampleWeights {
  SampleWeights() = default;                                                 // uniform
  SampleWeights(std::vector<double> weights) : fixed(std::move(weights)) {}  // NOLINT: implicit
  SampleWeights(std::initializer_list<double> weights) : fixed(weights) {}   // on purpose
  SampleWeights(const Dataset& weights);                                     // NOLINT

  std::vector<double> fixed;
  std::shared_ptr<const Node> varying;  // null if the weights are fixed
};

struct SampleFromDatasetsOptions {
  SampleWeights weights = {};
  std::optional<int64_t> seed = {};
  bool stop_on_empty_dataset = false;  // false: stop with the last dataset
  bool rerandomize_each_iteration = false;
};

struct ChooseFromDatasetsOptions {
  bool stop_on_empty_dataset = true;
};

struct RandomOptions {
  std::optional<int64_t> seed = {};
  bool rerandomize_each_iteration = false;
};

struct IgnoreErrorsOptions {
  bool log_warning = false;  // log each error, not only their number
};

}  // namespace cornu::data
