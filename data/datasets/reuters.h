// SPDX-License-Identifier: Apache-2.0
// Reuters: newswires on 46 topics (Reuters-21578).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "data/datasets/splits.h"

namespace cornu::datasets::reuters {

struct LoadOptions {
  std::filesystem::path path = {};        // see FileOptions; the file is reuters.npz
  std::optional<int64_t> num_words = {};  // this number and larger ones become oov_char; {}: only
                                          // the largest of all
  int64_t skip_top = 0;                   // smaller numbers become oov_char
  std::optional<int64_t> maxlen = {};     // drop sequences this long or longer
  double test_split = 0.2;                // fraction of the examples used for testing, in [0, 1)
  int64_t seed = 113;                     // of the shuffle, whose order matches Keras's
  std::optional<int64_t> start_char = 1;  // prepended to each sequence; {}: nothing is
  std::optional<int64_t> oov_char = 2;    // {}: words are dropped instead
  int64_t index_from = 3;                 // added to each word's rank
  bool download = true;
};

// 11,228 examples: x are lists of word indices, smaller for more frequent words; y int64 (n), 0 to
// 45 (keras.datasets.reuters.load_data). Otherwise like imdb::load_data, including errors; also
// throws InvalidArgument for a test_split outside [0, 1).
SequenceSplits load_data(const LoadOptions& options = {});

// Words and their ranks, starting with 1 (keras.datasets.reuters.get_word_index); the file is
// reuters_word_index.json.
std::unordered_map<std::string, int64_t> get_word_index(const FileOptions& options = {});

// The topic names for the labels (keras.datasets.reuters.get_label_names).
std::vector<std::string> get_label_names();

}  // namespace cornu::datasets::reuters
