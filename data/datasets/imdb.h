// SPDX-License-Identifier: Apache-2.0
// IMDB: reviews of films, each positive or negative (Maas et al., 2011).
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
  std::optional<int64_t> num_words = {};  // larger numbers become oov_char; {}: none does
  int64_t skip_top = 0;                   // smaller numbers become oov_char
  std::optional<int64_t> maxlen = {};     // sequences this long or longer are left out
  int64_t seed = 113;                     // of the order, which is Keras's
  std::optional<int64_t> start_char = 1;  // put before each sequence; {}: nothing is
  std::optional<int64_t> oov_char = 2;    // {}: words are left out instead
  int64_t index_from = 3;                 // added to each word's rank
  bool download = true;
};

// 25,000 training and 25,000 test examples: x lists of numbers of words, the more frequent the
// smaller; y int64 (n): 1 positive, 0 negative (keras.datasets.imdb.load_data). As in Keras the
// options that compare numbers see them with index_from added, and without num_words the largest
// number of all becomes oov_char. The file's lists are read without executing anything (pickle.h).
// Errors as FileOptions says; InvalidArgument when maxlen leaves nothing, and for a seed that has
// more than 32 bits.
SequenceSplits load_data(const LoadOptions& options = {});

// Words and their ranks, from 1 on (keras.datasets.imdb.get_word_index); the file is
// imdb_word_index.json.
std::unordered_map<std::string, int64_t> get_word_index(const FileOptions& options = {});

}  // namespace cornu::datasets::imdb
