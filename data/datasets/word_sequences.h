// SPDX-License-Identifier: Apache-2.0
// What IMDB and Reuters have in common: texts as ranks of words. Internal to the data sets.
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

// Keras's options of how ranks become numbers.
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

// The arrays `x` and `y` of a .npz file, in the order that `random` shuffles them into. DataLoss
// when they differ in number.
Sequences read_sequences(const std::filesystem::path& path, const std::string& x,
                         const std::string& y, data::NumpyRandomState& random);

// Encodes all parts, which have num_words in common when it isn't given: the largest number there
// is, which itself becomes oov_char, as in Keras. InvalidArgument, naming `who`, when maxlen leaves
// nothing of a part.
void encode_words(const std::vector<Sequences*>& parts, const WordEncoding& encoding,
                  const char* who);

// A file {"word": rank, …}.
std::unordered_map<std::string, int64_t> read_word_index(const DatasetFile& file,
                                                         const FileOptions& options);

}  // namespace cornu::datasets
