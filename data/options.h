// SPDX-License-Identifier: Apache-2.0
// The options of datasets and their transforms (tf.data's names and defaults).
#pragma once

#include <cstdint>
#include <optional>

#include "data/element.h"

namespace cornu::data {

// Lets the library choose: a buffer's size, a number of threads (tf.data.AUTOTUNE).
inline constexpr int64_t kAutotune = -1;

// How a distributed strategy divides a dataset between workers (tf.data.experimental).
enum class AutoShardPolicy {
  Auto,  // by files where the dataset reads files, else by data
  Data,  // every worker reads everything and keeps its part
  File,  // every worker reads files of its own
  Hint,  // where the program says; Unimplemented
  Off,   // every worker sees everything
};

struct DistributeOptions {
  AutoShardPolicy auto_shard_policy = AutoShardPolicy::Auto;
};

struct Options {
  DistributeOptions distribute = {};
};

struct ShuffleOptions {
  std::optional<int64_t> seed = {};  // nullopt: from set_random_seed's sequence
  bool reshuffle_each_iteration = true;
};

struct ListFilesOptions {
  bool shuffle = true;               // anew in each pass; false: sorted
  std::optional<int64_t> seed = {};  // nullopt: from set_random_seed's sequence
};

struct BatchOptions {
  bool drop_remainder = false;  // leave out a last batch that isn't full
};

struct MapOptions {
  // How many elements may be computed at a time, each on a thread of its own, ahead of the
  // iterator; kAutotune: as many as there are cores. The elements and their order are the same.
  // None: one after another, on the thread that iterates.
  std::optional<int64_t> num_parallel_calls = {};
  bool deterministic = true;  // false allows another order of elements; none is made use of
  // What comes, kUnknown for axes that vary. Needed only by functions that run on the host, where
  // the axes are to be known, or the input may have no element to learn the rest from.
  std::optional<ElementSpec> output_signature = {};
  bool traced = true;  // false: the function runs on the host, op by op, even if it can be traced
};

}  // namespace cornu::data
