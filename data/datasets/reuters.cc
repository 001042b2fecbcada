// SPDX-License-Identifier: Apache-2.0
#include "data/datasets/reuters.h"

#include "data/datasets/test_split.h"
#include "data/datasets/word_sequences.h"

namespace cornu::datasets::reuters {

SequenceSplits load_data(const LoadOptions& options) {
  constexpr DatasetFile kFile = {
      .title = "Reuters",
      .name = "reuters.npz",
      .folder = kKerasFolder,
      .hash = "d6586e694ee56d7a4e65172e12b3e987c03096cb01eab99753921ef915959916"};
  check_test_split(options.test_split, "reuters");
  data::NumpyRandomState random(options.seed);
  const auto path = find_dataset_file(kFile, {options.path, options.download});
  Sequences all = read_sequences(path, "x", "y", random);
  encode_words({&all}, encoding_of(options), "reuters");
  const auto count = static_cast<int64_t>(all.x.size());
  const int64_t split = training_rows(count, options.test_split);
  SequenceSplits splits;
  const auto middle = all.x.begin() + split;
  splits.train.x.assign(std::make_move_iterator(all.x.begin()), std::make_move_iterator(middle));
  splits.test.x.assign(std::make_move_iterator(middle), std::make_move_iterator(all.x.end()));
  splits.train.y = all.y.rows(0, split);
  splits.test.y = all.y.rows(split, count);
  return splits;
}

std::unordered_map<std::string, int64_t> get_word_index(const FileOptions& options) {
  constexpr DatasetFile kFile = {.title = "Reuters' index of words",
                                 .name = "reuters_word_index.json",
                                 .folder = kKerasFolder,
                                 .hash = "4d44cc38712099c9e383dc6e5f11a921"};
  return read_word_index(kFile, options);
}

std::vector<std::string> get_label_names() {
  return {"cocoa",        "grain",   "veg-oil",   "earn",
          "acq",          "wheat",   "copper",    "housing",
          "money-supply", "coffee",  "sugar",     "trade",
          "reserves",     "ship",    "cotton",    "carcass",
          "crude",        "nat-gas", "cpi",       "money-fx",
          "interest",     "gnp",     "meal-feed", "alum",
          "oilseed",      "gold",    "tin",       "strategic-metal",
          "livestock",    "retail",  "ipi",       "iron-steel",
          "rubber",       "heat",    "jobs",      "lei",
          "bop",          "zinc",    "orange",    "pet-chem",
          "dlr",          "gas",     "silver",    "wpi",
          "hog",          "lead"};
}

}  // namespace cornu::datasets::reuters
