// SPDX-License-Identifier: Apache-2.0
#include "data/datasets/word_sequences.h"

#include <algorithm>
#include <utility>

#include "data/readers/npz.h"
#include "framework/core/checked.h"
#include "framework/core/json.h"
#include "framework/core/rows.h"
#include "framework/io/file_reader.h"

namespace cornu::datasets {
namespace {

using Words = std::vector<int64_t>;

// Adds index_from to the ranks, and prepends start_char.
void shift(Words& words, const WordEncoding& encoding, const char* who) {
  for (int64_t& word : words) word = checked_add(word, encoding.index_from, who);
  if (encoding.start_char) words.insert(words.begin(), *encoding.start_char);
}

// Drops sequences of length maxlen or more.
void leave_out_long(Sequences& part, int64_t maxlen, const char* who) {
  std::vector<int64_t> kept;
  for (size_t i = 0; i < part.x.size(); ++i) {
    if (static_cast<int64_t>(part.x[i].size()) >= maxlen) continue;
    std::swap(part.x[kept.size()], part.x[i]);
    kept.push_back(static_cast<int64_t>(i));
  }
  check<InvalidArgument>(
      !kept.empty(), "{}: no sequence is shorter than maxlen = {}. Increase maxlen.", who, maxlen);
  part.x.resize(kept.size());
  part.y = gather_rows(part.y, kept);
}

void replace_rare(Words& words, const WordEncoding& encoding, int64_t num_words) {
  const auto out = [&](int64_t word) { return word < encoding.skip_top || word >= num_words; };
  if (encoding.oov_char) {
    std::replace_if(words.begin(), words.end(), out, *encoding.oov_char);
  } else {
    words.erase(std::remove_if(words.begin(), words.end(), out), words.end());
  }
}

}  // namespace

Sequences read_sequences(const std::filesystem::path& path, const std::string& x,
                         const std::string& y, data::NumpyRandomState& random) {
  const data::NpzReader file(path);
  auto texts = file.read_ragged(x);
  const Tensor labels = file.read(y);
  check<DataLoss>(labels.rank() == 1 && labels.dim(0) == static_cast<int64_t>(texts.size()),
                  "{}: '{}' has {} sequences, but '{}' is of shape {}.", path.string(), x,
                  texts.size(), y, labels.shape());
  const auto order = random.permutation(labels.dim(0));
  Sequences result;
  result.y = gather_rows(labels, order);
  for (const int64_t row : order) result.x.push_back(std::move(texts[static_cast<size_t>(row)]));
  return result;
}

void encode_words(const std::vector<Sequences*>& parts, const WordEncoding& encoding,
                  const char* who) {
  int64_t largest = 0;
  for (Sequences* part : parts) {
    for (Words& words : part->x) shift(words, encoding, who);
    if (encoding.maxlen.value_or(0) != 0) leave_out_long(*part, *encoding.maxlen, who);
    for (const Words& words : part->x) {
      for (const int64_t word : words) largest = std::max(largest, word);
    }
  }
  // Keras treats 0 like None.
  const bool limited = encoding.num_words.value_or(0) != 0;
  const int64_t num_words = limited ? *encoding.num_words : largest;
  for (Sequences* part : parts) {
    for (Words& words : part->x) replace_rare(words, encoding, num_words);
  }
}

std::unordered_map<std::string, int64_t> read_word_index(const DatasetFile& file,
                                                         const FileOptions& options) {
  const auto path = find_dataset_file(file, options);
  const auto text = read_whole_file(path);
  std::unordered_map<std::string, int64_t> index;
  try {
    const Json words = Json::parse({reinterpret_cast<const char*>(text->data()), text->bytes()});
    for (const auto& [word, rank] : words.as_object()) index[word] = rank.as_int();
  } catch (const Error& error) {
    raise<DataLoss>("{}: expected an object of words and their ranks: {}", path.string(),
                    error.what());
  }
  return index;
}

}  // namespace cornu::datasets
