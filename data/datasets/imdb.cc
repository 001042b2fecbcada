// SPDX-License-Identifier: Apache-2.0
#include "data/datasets/imdb.h"

#include "data/datasets/word_sequences.h"

namespace cornu::datasets::imdb {

SequenceSplits load_data(const LoadOptions& options) {
  constexpr DatasetFile kFile = {
      .title = "IMDB",
      .name = "imdb.npz",
      .folder = kKerasFolder,
      .hash = "69664113be75683a8fe16e3ed0ab59fda8886cb3cd7ada244f7d9544e4676b9f"};
  data::NumpyRandomState random(options.seed);
  const auto path = find_dataset_file(kFile, {options.path, options.download});
  SequenceSplits splits;
  splits.train = read_sequences(path, "x_train", "y_train", random);
  splits.test = read_sequences(path, "x_test", "y_test", random);
  encode_words({&splits.train, &splits.test}, encoding_of(options), "imdb");
  return splits;
}

std::unordered_map<std::string, int64_t> get_word_index(const FileOptions& options) {
  constexpr DatasetFile kFile = {.title = "IMDB's index of words",
                                 .name = "imdb_word_index.json",
                                 .folder = kKerasFolder,
                                 .hash = "bfafd718b763782e994055a2d397834f"};
  return read_word_index(kFile, options);
}

}  // namespace cornu::datasets::imdb
