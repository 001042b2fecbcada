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
  std::optional<int64_t> num_epochs = {};  // None: without end, all batches full
  bool shuffle = true;                     // files and records, anew in each epoch
  int64_t shuffle_buffer_size = 10000;
  std::optional<int64_t> shuffle_seed = {};
  int64_t prefetch_buffer_size = kAutotune;
  int64_t reader_num_threads = 1;  // files that are read at a time, a record of each in turn
  int64_t parser_num_threads = 2;  // batches that may be parsed at a time
  bool drop_final_batch = false;
  std::string compression_type = "";  // or "GZIP", "ZLIB"
};

// Batches of the tf.train.Examples in the TFRecord files that match `file_pattern` (as
// Dataset::list_files has it): a dictionary of the features, as ExampleParser gives them, or the
// pair of it and the feature `label_key`. NotFound when nothing matches; InvalidArgument for a
// label that is no feature, or the only one, for a number below 1, where no batch comes at all (the
// first one tells the kinds of all), and as ExampleParser's.
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
