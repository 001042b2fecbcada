// SPDX-License-Identifier: Apache-2.0
// Batches of the examples in TFRecord files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/example.h"

namespace cornu::data {

struct BatchedFeaturesOptions {
  std::optional<std::string> label_key = {};
  std::optional<int64_t> num_epochs = {};  // nullopt: endless, all batches are full
  bool shuffle = true;                     // shuffle files and records, in a new order in each
                                           // epoch
  int64_t shuffle_buffer_size = 10000;
  std::optional<int64_t> shuffle_seed = {};
  int64_t prefetch_buffer_size = kAutotune;
  int64_t reader_num_threads = 1;  // files that are read at a time, in turn, one record from each
  int64_t parser_num_threads = 2;  // batches parsed in parallel
  bool drop_final_batch = false;
  std::string compression_type = "";  // or "GZIP", "ZLIB"
};

// Batches of the tf.train.Examples in the TFRecord files that match `file_pattern` (see
// Dataset::list_files): a dictionary of the features, as returned by ExampleParser, or a pair of
// that dictionary and the feature `label_key`. Throws NotFound when nothing matches. Throws
// InvalidArgument when the label isn't a feature or is the only one, when a number is below 1, when
// there is no batch at all (the first one determines the types), and as ExampleParser does.
// Reference: tf.data.experimental.make_batched_features_dataset.
Dataset make_batched_features_dataset(const std::vector<std::string>& file_pattern,
                                      int64_t batch_size, const Features& features,
                                      const BatchedFeaturesOptions& options = {});
inline Dataset make_batched_features_dataset(const std::string& file_pattern, int64_t batch_size,
                                             const Features& features,
                                             const BatchedFeaturesOptions& options = {}) {
  return make_batched_features_dataset(std::vector<std::string>{file_pattern}, batch_size, features,
                                       options);
}

}  // namespace cornu::data
