// SPDX-License-Identifier: Apache-2.0
// Common parts of IMDB and Reuters: texts as ranks of words. Internal to the data sets.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "data/datasets/dataset_file.h"
#include "data/datasets/splits.h"
#include "data/numpy_random.h"

namespace cornu::datasets {

// Keras's options for encoding ranks.
struct WordEncoding {
  std::optional<int64_t> num_words;
  int64_t skip_top = 0;
  std::optional<int64_t> maxlen;
  std::optional<int64_t> start_char;
  std::optional<int64_t> oov_char;
  int64_t index_from = 0;
};
template <class Options>
WordEncoding encoding_of(const Options& options) {
  return {options.num_words,  options.skip_top, options.maxlen,
          options.start_char, options.oov_char, options.index_from};
}

// Reads the arrays `x` and `y` of a .npz file, shuffled by `random`. Throws DataLoss when their
// numbers differ.
Sequences read_sequences(const std::filesystem::path& path, const std::string& x,
                         const std::string& y, data::NumpyRandomState& random);

// Encodes all parts. If num_words isn't given, they share one value, the largest index of all,
// which itself becomes oov_char, as in Keras. Throws InvalidArgument, naming `who`, when maxlen
// leaves nothing of a part.
void encode_words(const std::vector<Sequences*>& parts, const WordEncoding& encoding,
                  const char* who);

// Reads a file {"word": rank, …}.
std::unordered_map<std::string, int64_t> read_word_index(const DatasetFile& file,
                                                         const FileOptions& options);

}  // namespace cornu::datasets
