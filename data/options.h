// SPDX-License-Identifier: Apache-2.0
// The options of datasets and their transforms (tf.data's names and defaults).
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

// Lets the library choose: a buffer's size, a number of threads (tf.data.AUTOTUNE).
inline constexpr int64_t kAutotune = -1;

// How a distributed strategy divides a dataset between workers (tf.data.experimental). All workers
// get equally many batches; where they read files of their own, each passes over the others' at the
// end of a pass, without parsing, to know how many.
enum class AutoShardPolicy {
  // As File where records of files are read (also by an interleave's or a flat_map's function), and
  // what follows is the same for parts (map, filter, batch, …, not take or zip); else as Data.
  Auto,
  // Every worker takes its part of the batches, and passes over the others': it reads no more of
  // them than it must to find its own, and computes nothing of them. The same batches as one worker
  // has.
  Data,
  File,    // every worker reads files of its own; as Record where there are more workers than files
  Record,  // every worker reads its own range of each file's records
  Hint,    // where shard(kShardHint, kShardHint) stands in the chain
  Off,     // every worker sees everything; of workers' data that differ, the longest decide
};

// Stands for the number of workers and for the worker's own (tf.data.experimental.SHARD_HINT).
inline constexpr int64_t kShardHint = -1;

struct DistributeOptions {
  AutoShardPolicy auto_shard_policy = AutoShardPolicy::Auto;
};

// What may be chosen where kAutotune stands, for the passes of one iterator (tf.data's).
struct AutotuneOptions {
  bool enabled = true;     // false: as many calls as there are cores, two elements of a buffer
  int64_t cpu_budget = 0;  // cores that a map may work on at a time; 0: all
  int64_t ram_budget = 0;  // bytes of elements made ahead; 0: half of what is available
};

// Of a whole pipeline, wherever they stand in it; see Dataset::with_options.
struct Options {
  DistributeOptions distribute = {};
  AutotuneOptions autotune = {};
  // What maps and batches of several calls do that aren't told so (see MapOptions); None: true.
  std::optional<bool> deterministic = {};
  bool statistics = false;  // measures passes for Dataset::stats(); so does CORNU_DATA_STATS=1
};

struct ShuffleOptions {
  std::optional<int64_t> seed = {};  // nullopt: from set_random_seed's sequence
  bool reshuffle_each_iteration = true;
};

struct ListFilesOptions {
  bool shuffle = true;               // anew in each pass; false: sorted
  std::optional<int64_t> seed = {};  // nullopt: from set_random_seed's sequence
};

struct RangeOptions {
  DType output_type = DType::Int64;  // of numbers; int64 ones are cast to it
};

struct BatchOptions {
  bool drop_remainder = false;  // leave out a last batch that isn't full
  // How many batches may be made at a time, ahead of the iterator; as MapOptions'.
  std::optional<int64_t> num_parallel_calls = {};
  std::optional<bool> deterministic = {};  // as MapOptions'
};

struct RaggedBatchOptions {
  bool drop_remainder = false;
  DType row_splits_dtype = DType::Int64;  // or int32
};

struct MapOptions {
  // How many elements may be computed at a time, ahead of the iterator, on the data threads that
  // all pipelines share (as many as there are cores); kAutotune: as many as keep the iterator from
  // waiting. The elements and their order are the same. None: one after another, on the thread that
  // iterates.
  std::optional<int64_t> num_parallel_calls = {};
  // false: with several calls, elements come as they are ready, unless a transform above needs them
  // in order: any but map, filter, batch (padded, ragged), repeat, prefetch, ignore_errors,
  // with_options and copy_to_device does, and so does one that gives its own as they are ready. A
  // restored position gives the elements that were left, in any order. None: as the pipeline's
  // Options say, else true.
  std::optional<bool> deterministic = {};
  // What comes, kUnknown for axes that vary. Needed only by functions that run on the host, where
  // the axes are to be known, or the input may have no element to learn the rest from.
  std::optional<ElementSpec> output_signature = {};
  bool traced = true;  // false: the function runs on the host, op by op, even if it can be traced
};

struct PaddedBatchOptions {
  // One for each tensor; kUnknown: as long as the longest of the batch. None: the elements' own.
  std::vector<Shape> padded_shapes = {};
  // Scalars, one for each tensor, or for all. None, and in the place of one: 0, or "".
  std::vector<Tensor> padding_values = {};
  bool drop_remainder = false;
};

// Of functions that give datasets, which run on the host for each element.
struct FlatMapOptions {
  // The kind of the datasets' elements, kUnknown for axes that vary. None: the first dataset's,
  // with all axes unknown.
  std::optional<ElementSpec> output_signature = {};
};

struct InterleaveOptions {
  // How many elements' datasets are gone through in turn; kAutotune: 16, on any machine, since the
  // order depends on it.
  int64_t cycle_length = kAutotune;
  int64_t block_length = 1;  // elements of one dataset in its turn
  // More than one: so many threads go through these datasets, ahead of the iterator; kAutotune: as
  // many as keep it from waiting, none where elements take less than a thread's waking up.
  std::optional<int64_t> num_parallel_calls = {};
  bool deterministic = true;  // false allows another order; none is made use of
  std::optional<ElementSpec> output_signature = {};  // see FlatMapOptions
};

struct WindowOptions {
  std::optional<int64_t> shift = {};  // from a window's first element to the next one's; none: size
  int64_t stride = 1;                 // from an element of a window to the next
  bool drop_remainder = false;        // leave out windows that aren't full
};

struct GroupByWindowOptions {
  std::optional<ElementSpec> output_signature = {};  // see FlatMapOptions
};

struct BucketOptions {
  std::vector<Shape> padded_shapes = {};    // see PaddedBatchOptions
  std::vector<Tensor> padding_values = {};  // see PaddedBatchOptions
  bool pad_to_bucket_boundary = false;      // axes that vary become boundary - 1 long
  bool no_padding = false;                  // batch, not padded_batch
  bool drop_remainder = false;
};

struct RejectionResampleOptions {
  OptionalList<double> initial_dist = {};  // none: as seen so far
  std::optional<int64_t> seed = {};
};

// How often each of several datasets is drawn: a weight for each (they needn't sum up to 1); or a
// dataset of such weights, float32 or float64 vectors, of which each draw takes one. Where that one
// draws a dataset that has ended, the next one is taken; where there is none, nothing more comes
// (where they never end, but draw none of those that are left, the next element never comes).
struct SampleWeights {
  SampleWeights() = default;                                                 // all alike
  SampleWeights(std::vector<double> weights) : fixed(std::move(weights)) {}  // NOLINT: implicit
  SampleWeights(std::initializer_list<double> weights) : fixed(weights) {}   // on purpose
  SampleWeights(const Dataset& weights);                                     // NOLINT

  std::vector<double> fixed;
  std::shared_ptr<const Node> varying;  // null where they are fixed
};

struct SampleFromDatasetsOptions {
  SampleWeights weights = {};
  std::optional<int64_t> seed = {};
  bool stop_on_empty_dataset = false;  // else with the last dataset
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
  bool log_warning = false;  // tell of each error, not only how many there were
};

}  // namespace cornu::data
