// SPDX-License-Identifier: Apache-2.0
// Reuters: newswires of 46 topics (Reuters-21578).
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
  std::optional<int64_t> num_words = {};  // larger numbers become oov_char; {}: none does
  int64_t skip_top = 0;                   // smaller numbers become oov_char
  std::optional<int64_t> maxlen = {};     // sequences this long or longer are left out
  double test_split = 0.2;                // the part that is for testing, in [0, 1)
  int64_t seed = 113;                     // of the order, which is Keras's
  std::optional<int64_t> start_char = 1;  // put before each sequence; {}: nothing is
  std::optional<int64_t> oov_char = 2;    // {}: words are left out instead
  int64_t index_from = 3;                 // added to each word's rank
  bool download = true;
};

// 11,228 examples: x lists of numbers of words, the more frequent the smaller; y int64 (n), 0 to 45
// (keras.datasets.reuters.load_data). All else as imdb::load_data, errors too; InvalidArgument also
// for a test_split that isn't in [0, 1).
SequenceSplits load_data(const LoadOptions& options = {});

// Words and their ranks, from 1 on (keras.datasets.reuters.get_word_index); the file is
// reuters_word_index.json.
std::unordered_map<std::string, int64_t> get_word_index(const FileOptions& options = {});

// The topics that the labels number (keras.datasets.reuters.get_label_names).
std::vector<std::string> get_label_names();

}  // namespace cornu::datasets::reuters
