// SPDX-License-Identifier: Apache-2.0
// IMDB: movie reviews, each positive or negative (Maas et al., 2011).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>

#include "data/datasets/splits.h"

namespace cornu::datasets::imdb {

struct LoadOptions {
  std::filesystem::path path = {};        // see FileOptions; the file is imdb.npz
  std::optional<int64_t> num_words = {};  // this number and larger ones become oov_char; {}: only
                                          // the largest of all
  int64_t skip_top = 0;                   // smaller numbers become oov_char
  std::optional<int64_t> maxlen = {};     // drop sequences this long or longer
  int64_t seed = 113;                     // of the shuffle, whose order matches Keras's
  std::optional<int64_t> start_char = 1;  // prepended to each sequence; {}: nothing is
  std::optional<int64_t> oov_char = 2;    // {}: words are dropped instead
  int64_t index_from = 3;                 // added to each word's rank
  bool download = true;
};

// 25,000 training and 25,000 test examples: x are lists of word indices, smaller for more frequent
// words; y int64 (n): 1 positive, 0 negative (keras.datasets.imdb.load_data). As in Keras, the
// options that compare indices apply after index_from was added, and without num_words the largest
// index of all becomes oov_char. Reading the file's lists executes no code (see pickle.h). Throws
// the errors documented for FileOptions; InvalidArgument when maxlen leaves nothing, and for a seed
// of more than 32 bits.
SequenceSplits load_data(const LoadOptions& options = {});

// Words and their ranks, starting with 1 (keras.datasets.imdb.get_word_index); the file is
// imdb_word_index.json.
std::unordered_map<std::string, int64_t> get_word_index(const FileOptions& options = {});

}  // namespace cornu::datasets::imdb
