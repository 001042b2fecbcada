// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/index_lookup.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_set>

#include "framework/core/strings.h"
#include "framework/graph/trace.h"
#include "framework/io/atomic_file.h"
#include "framework/model/weight_limit.h"
#include "framework/ops/ops.h"
#include "layers/preprocessing/category_output.h"

namespace cornu::layers {
namespace {

constexpr char kVocabularyFile[] = "vocabulary.txt";
constexpr int64_t kNowhere = -1;  // an index that isn't in any vector

template <class Token>
constexpr bool kOfText = std::is_same_v<Token, std::string>;

std::string shown(const std::string& token) { return "'" + printable(token) + "'"; }
std::string shown(int64_t token) { return std::to_string(token); }

std::string text_of(const std::string& token) { return token; }
std::string text_of(int64_t token) { return std::to_string(token); }

// The first few tokens.
template <class Tokens>
std::string shown_list(const Tokens& tokens) {
  constexpr size_t kMax = 5;
  std::vector<std::string> texts;
  for (const auto& token : tokens) {
    if (texts.size() == kMax) {
      texts.push_back("…");
      break;
    }
    texts.push_back(shown(token));
  }
  return "[" + join(texts, ", ") + "]";
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    if (!lines.back().empty() && lines.back().back() == '\r') lines.back().pop_back();
    at = end + 1;
  }
  return lines;
}

template <class Token>
Token parsed(const std::string& line, const std::string& who) {
  if constexpr (kOfText<Token>) {
    return line;
  } else {
    int64_t number = 0;
    const char* const end = line.data() + line.size();
    const auto read = std::from_chars(line.data(), end, number);
    check<InvalidArgument>(read.ec == std::errc() && read.ptr == end,
                           "{}: expected an integer in each line of the vocabulary, got '{}'.", who,
                           printable(line));
    return number;
  }
}

}  // namespace

template <class Token>
struct IndexLookup<Token>::Counts {
  struct OfToken {
    int64_t all = 0;
    int64_t documents = 0;  // that contain it
  };
  std::unordered_map<Token, OfToken> tokens;
  int64_t documents = 0;
};

template <class Token>
IndexLookup<Token>::IndexLookup(LookupSettings<Token> settings)
    : settings_(std::move(settings)), frozen_size_(settings_.vocabulary_size) {
  check_settings();
  if (settings_.vocabulary.given()) set_vocabulary(settings_.vocabulary, settings_.idf_weights);
}

template <class Token>
void IndexLookup<Token>::check_settings() const {
  check_one_of(settings_.label, "output_mode", settings_.output_mode,
               {"int", "one_hot", "multi_hot", "count", "tf_idf"});
  constexpr int64_t kMaxPadded = 1 << 27;
  require(!settings_.max_tokens || *settings_.max_tokens > 1, "expected max_tokens > 1, got {}.",
          settings_.max_tokens.value_or(0));
  require(!settings_.pad_to_max_tokens || settings_.max_tokens.value_or(0) <= kMaxPadded,
          "expected max_tokens of at most {} to pad to, got {}.", kMaxPadded,
          settings_.max_tokens.value_or(0));
  constexpr int64_t kMaxOov = 1 << 24;
  require(settings_.num_oov_indices >= 0 && settings_.num_oov_indices <= kMaxOov,
          "expected num_oov_indices from 0 to {}, got {}.", kMaxOov, settings_.num_oov_indices);
  require(!settings_.pad_to_max_tokens || settings_.max_tokens,
          "pad_to_max_tokens needs max_tokens, the size to pad to.");
  require(!settings_.invert || is_int(), "invert goes with output_mode \"int\", not \"{}\".",
          settings_.output_mode);
  require(!settings_.invert || settings_.oov_token,
          "invert needs an oov_token, which unknown indices become.");
  require(settings_.idf_weights.empty() || is_idf(),
          "idf_weights go with output_mode \"tf_idf\", not \"{}\".", settings_.output_mode);
  require(settings_.idf_weights.empty() || settings_.vocabulary.given(),
          "idf_weights need a vocabulary: they are those of its tokens.");
  if (!settings_.vocabulary_size) return;
  require(*settings_.vocabulary_size >= 0, "expected vocabulary_size >= 0, got {}.",
          *settings_.vocabulary_size);
  // The size claimed by a file is limited by the file.
  if (is_idf()) WeightLimit::add(sizeof(float) * static_cast<uint64_t>(*settings_.vocabulary_size));
}

// ---- calls ----

template <class Token>
Tensor IndexLookup<Token>::call(const Tensor& x) const {
  const bool text = kOfText<Token> && !settings_.invert;
  require(text == (x.dtype() == DType::String), "expected {}, got {}.",
          text ? "strings" : "integers", x.dtype());
  require(text || is_integer(x.dtype()) || is_floating(x.dtype()), "expected integers, got {}.",
          x.dtype());
  if (is_inferring_types() && x.is_symbolic()) {
    if (settings_.invert && kOfText<Token>) return Tensor::empty(x.shape(), DType::String);
    return stand_in(x.shape());
  }
  check<FailedPrecondition>(known_,
                            "{} has no vocabulary yet. Pass one, or call adapt with data first.",
                            settings_.label);
  if (settings_.invert) return tokens_at(ops::cast(x, DType::Int64));
  if constexpr (kOfText<Token>) {
    return encoded(indices_of_values(x));
  } else {
    const Tensor keys = ops::cast(x, DType::Int64);
    return encoded(x.is_symbolic() ? indices_of_integers(keys) : indices_of_values(keys));
  }
}

template <class Token>
Tensor IndexLookup<Token>::indices_of_values(const Tensor& x) const {
  const Tensor there = x.host();
  Tensor result = Tensor::empty(x.shape(), DType::Int64);
  auto place = result.mutable_data<int64_t>().begin();
  std::vector<Token> unknown;
  const auto buckets = static_cast<uint64_t>(std::max<int64_t>(settings_.num_oov_indices, 1));
  for (const Token& token : there.data<Token>()) {
    int64_t& index = *place++;
    if (settings_.mask_token && token == *settings_.mask_token) {
      index = is_int() ? 0 : kNowhere;
    } else if (const auto found = index_.find(token); found != index_.end()) {
      index = found->second;
    } else if (settings_.num_oov_indices == 0) {
      unknown.push_back(token);
    } else if (settings_.num_oov_indices == 1) {
      index = oov_start();
    } else if (settings_.hash_oov) {
      const std::string text = text_of(token);
      const uint64_t hash = settings_.salt ? sip_hash(text, *settings_.salt) : fingerprint64(text);
      index = oov_start() + static_cast<int64_t>(hash % buckets);
    } else if constexpr (!kOfText<Token>) {
      const auto size = static_cast<int64_t>(buckets);
      index = oov_start() + (token % size + size) % size;
    }
  }
  require(unknown.empty(),
          "expected tokens of the vocabulary alone, as num_oov_indices is 0, got {}. Set "
          "num_oov_indices to 1 for an index of all others.",
          shown_list(unknown));
  return result;
}

template <class Token>
Tensor IndexLookup<Token>::oov_indices(const Tensor& x) const {
  const int64_t count = settings_.num_oov_indices;
  if (count == 1) return ops::full_like(x, oov_start());
  const Tensor bucket = settings_.hash_oov
                            ? ops::cast(ops::mod(hash_elements(x, settings_.salt),
                                                 Tensor::scalar(static_cast<uint64_t>(count))),
                                        DType::Int64)
                            : ops::mod(x, count);
  return bucket + oov_start();
}

template <class Token>
Tensor IndexLookup<Token>::indices_of_integers(const Tensor& x) const {
  Tensor masked;
  if constexpr (!kOfText<Token>) {
    if (settings_.mask_token) masked = ops::equal(x, Tensor::scalar(*settings_.mask_token));
  }
  const auto size = static_cast<int64_t>(sorted_tokens_.size());
  const Tensor place = ops::minimum(ops::searchsorted(sorted_tokens_, x), size - 1);
  const Tensor found =
      size > 0 ? ops::equal(ops::take(sorted_tokens_, place), x) : ops::zeros_like(x, DType::Bool);
  Tensor index;
  if (settings_.num_oov_indices > 0) {
    index = oov_indices(x);
    if (size > 0) index = ops::where(found, ops::take(sorted_indices_, place), index);
  } else {
    const Tensor known = masked.defined() ? ops::logical_or(found, masked) : found;
    const Tensor unknown = ops::where(x >= 0, x + size, x - size);
    index = ops::take_known(sorted_indices_, ops::where(known, place, unknown), settings_.label);
  }
  return masked.defined() ? ops::where(masked, is_int() ? 0 : kNowhere, index) : index;
}

template <class Token>
Tensor IndexLookup<Token>::tokens_at(const Tensor& indices) const {
  std::vector<Token> table = vocabulary();
  const Token& unknown = *settings_.oov_token;
  const auto size = static_cast<int64_t>(table.size());
  if (!indices.is_symbolic()) {
    const Tensor there = indices.host();
    Tensor result = Tensor::empty(indices.shape(), dtype_of<Token>);
    auto place = result.mutable_data<Token>().begin();
    for (const int64_t index : there.data<int64_t>()) {
      *place++ = index >= 0 && index < size ? table[static_cast<size_t>(index)] : unknown;
    }
    return result;
  }
  if constexpr (kOfText<Token>) {
    raise<NotTraceable>(
        "{}: it gives strings, which compiled code can't. Call it on values, or in a dataset's "
        "map.",
        settings_.label);
  } else {
    table.push_back(unknown);
    const Tensor known = ops::logical_and(indices >= 0, indices < size);
    return ops::take(Tensor::from(table), ops::where(known, indices, size));
  }
}

template <class Token>
int64_t IndexLookup<Token>::depth() const {
  if (settings_.pad_to_max_tokens) return *settings_.max_tokens;
  check<FailedPrecondition>(frozen_size_.has_value(),
                            "{}: how large its outputs are isn't known before its vocabulary is. "
                            "Give one, call adapt with data, or set pad_to_max_tokens.",
                            settings_.label);
  return *frozen_size_;
}

template <class Token>
Tensor IndexLookup<Token>::encoded(const Tensor& indices) const {
  if (is_int()) return indices;
  if (!is_idf()) {
    return encode_categories(indices, settings_.output_mode, depth(), DType::Int64);
  }
  const Tensor counts = encode_categories(indices, "count", depth(), DType::Float32);
  return is_inferring_types() ? counts : counts * idf_weights_;
}

// ---- vocabularies ----

template <class Token>
std::vector<std::optional<Token>> IndexLookup<Token>::special_tokens() const {
  std::vector<std::optional<Token>> special(static_cast<size_t>(oov_start()), settings_.mask_token);
  special.insert(special.end(), static_cast<size_t>(settings_.num_oov_indices),
                 settings_.oov_token);
  return special;
}

template <class Token>
std::vector<Token> IndexLookup<Token>::vocabulary(bool include_special_tokens) const {
  if (!include_special_tokens) return tokens_;
  std::vector<Token> all;
  for (const std::optional<Token>& token : special_tokens()) all.push_back(token.value_or(Token()));
  all.insert(all.end(), tokens_.begin(), tokens_.end());
  return all;
}

template <class Token>
std::vector<Token> IndexLookup<Token>::read_file(const std::string& path) const {
  require(!is_idf(), "a vocabulary from a file has no idf_weights: give a list of its tokens.");
  const std::vector<std::byte> bytes = cornu::read_file(path, std::numeric_limits<size_t>::max());
  std::vector<Token> tokens;
  for (const std::string& line :
       lines_of(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()))) {
    tokens.push_back(parsed<Token>(line, settings_.label));
  }
  return tokens;
}

template <class Token>
void IndexLookup<Token>::check_tokens(const std::vector<Token>& tokens) const {
  std::unordered_set<Token> seen;
  std::vector<Token> repeated;
  for (const Token& token : tokens) {
    if (!seen.insert(token).second) repeated.push_back(token);
  }
  require(repeated.empty(),
          "expected each token of the vocabulary once, got these several times: {}.",
          shown_list(repeated));
  const auto refuse = [&](const std::optional<Token>& token, const char* what) {
    require(!token || !seen.contains(*token),
            "the {} {} is in the vocabulary. Either omit the mask and OOV tokens, or put all of "
            "them at the start.",
            what, token ? shown(*token) : "");
  };
  refuse(settings_.mask_token, "mask_token");
  if (settings_.invert) refuse(settings_.oov_token, "oov_token");
  const int64_t all = token_start() + std::ssize(tokens);
  require(
      !settings_.max_tokens || all <= *settings_.max_tokens,
      "expected a vocabulary of max_tokens ({}) or fewer, got {}, mask and oov tokens included.",
      settings_.max_tokens.value_or(0), all);
}

template <class Token>
void IndexLookup<Token>::set_vocabulary(const Vocabulary<Token>& vocabulary,
                                        const std::vector<double>& idf_weights) {
  require(is_idf() || idf_weights.empty(),
          "idf_weights go with output_mode \"tf_idf\", not \"{}\".", settings_.output_mode);
  std::vector<Token> tokens =
      vocabulary.is_list() ? vocabulary.tokens() : read_file(vocabulary.path());
  require(!tokens.empty(), "expected a vocabulary with tokens, got an empty one.");
  require(!is_idf() || idf_weights.size() == tokens.size(),
          "expected idf_weights of as many numbers as the vocabulary has tokens ({}), got {}.",
          tokens.size(), idf_weights.size());
  const auto special = special_tokens();
  const bool has_special = vocabulary.is_list() && tokens.size() >= special.size() &&
                           std::equal(special.begin(), special.end(), tokens.begin());
  if (has_special) {
    tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(special.size()));
  }
  check_tokens(tokens);
  set_tokens(std::move(tokens));
  if (is_idf()) set_idf(idf_weights, has_special);
}

template <class Token>
void IndexLookup<Token>::set_tokens(std::vector<Token> tokens) {
  const int64_t size = token_start() + std::ssize(tokens);
  check<FailedPrecondition>(
      is_int() || settings_.pad_to_max_tokens || !frozen_size_ || *frozen_size_ == size,
      "{}: its outputs have {} elements, and a vocabulary of {} would change that. Make another "
      "layer, or set max_tokens and pad_to_max_tokens.",
      settings_.label, frozen_size_.value_or(0), size);
  tokens_ = std::move(tokens);
  index_.clear();
  for (size_t i = 0; i < tokens_.size(); ++i) {
    index_.emplace(tokens_[i], token_start() + static_cast<int64_t>(i));
  }
  if constexpr (!kOfText<Token>) {
    std::vector<int64_t> sorted = tokens_;
    std::sort(sorted.begin(), sorted.end());
    std::vector<int64_t> indices;
    for (const int64_t token : sorted) indices.push_back(index_.at(token));
    sorted_tokens_ = Tensor::from(sorted);
    sorted_indices_ = Tensor::from(indices);
  }
  frozen_size_ = size;
  known_ = true;
}

template <class Token>
void IndexLookup<Token>::set_idf(const std::vector<double>& weights, bool of_all) {
  std::vector<float> all;
  if (!of_all) {
    // The weights of unknown tokens aren't known: the mean of the others is used.
    const double mean = std::accumulate(weights.begin(), weights.end(), 0.0) /
                        static_cast<double>(std::max<size_t>(weights.size(), 1));
    all.assign(static_cast<size_t>(token_start()), static_cast<float>(mean));
  }
  all.insert(all.end(), weights.begin(), weights.end());
  if (settings_.pad_to_max_tokens) all.resize(static_cast<size_t>(*settings_.max_tokens), 0);
  idf_weights_ = Tensor::from(all);
}

// ---- adapting ----

template <class Token>
void IndexLookup<Token>::adapt(const AdaptData& data, const AdaptOptions& options,
                               const std::function<Tensor(const Tensor&)>& tokens_of) {
  check<FailedPrecondition>(
      !settings_.vocabulary.given(),
      "{}: adapt computes a vocabulary, but one was passed to the constructor. Omit it there.",
      settings_.label);
  Counts counts;
  data.for_each_batch(options, [&](const Tensor& batch) {
    // A vector that is the whole data has one example per element.
    const bool whole = data.is_whole() && batch.rank() == 1;
    count(tokens_of(whole ? batch.with_shape({batch.dim(0), 1}) : batch), counts);
  });
  learn(counts);
}

template <class Token>
void IndexLookup<Token>::count(const Tensor& batch, Counts& counts) const {
  const bool text = batch.dtype() == DType::String;
  require(text == kOfText<Token> && (text || is_integer(batch.dtype())),
          "adapt expected {}, got {}.", kOfText<Token> ? "strings" : "integers", batch.dtype());
  Tensor there = batch;
  if constexpr (!kOfText<Token>) there = ops::cast(batch, DType::Int64);
  const auto tokens = there.data<Token>();
  const size_t documents = batch.rank() < 2 ? 1 : static_cast<size_t>(batch.dim(0));
  const size_t length = documents == 0 ? 0 : tokens.size() / documents;
  std::unordered_set<Token> seen;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i % length == 0) seen.clear();
    auto& count = counts.tokens[tokens[i]];
    ++count.all;
    if (is_idf() && seen.insert(tokens[i]).second) ++count.documents;
  }
  counts.documents += static_cast<int64_t>(documents);
}

template <class Token>
void IndexLookup<Token>::learn(Counts& counts) {
  if (settings_.mask_token) counts.tokens.erase(*settings_.mask_token);
  if (settings_.oov_token) counts.tokens.erase(*settings_.oov_token);
  std::vector<std::pair<int64_t, Token>> order;  // most frequent first, then last in order
  for (const auto& [token, count] : counts.tokens) order.emplace_back(count.all, token);
  std::sort(order.begin(), order.end(), std::greater<>());
  if (settings_.max_tokens) {
    const int64_t room = std::max<int64_t>(*settings_.max_tokens - token_start(), 0);
    if (std::ssize(order) > room) order.resize(static_cast<size_t>(room));
  }
  std::vector<Token> tokens;
  std::vector<double> idf;
  for (const auto& [all, token] : order) {
    tokens.push_back(token);
    const double documents = static_cast<double>(1 + counts.tokens.at(token).documents);
    idf.push_back(std::log(1 + static_cast<double>(counts.documents) / documents));
  }
  set_tokens(std::move(tokens));
  if (is_idf()) set_idf(idf, false);
}

// ---- files ----

template <class Token>
SavedParts::Values IndexLookup<Token>::saved_values() const {
  if (!is_idf() || (!idf_weights_.defined() && !frozen_size_)) return {};
  return {{"idf_weights", idf_weights_.defined() ? idf_weights_ : ops::zeros({depth()})}};
}

template <class Token>
void IndexLookup<Token>::load_values(const Values& values) {
  for (const auto& [name, value] : values) idf_weights_ = value;
}

template <class Token>
std::vector<std::string> IndexLookup<Token>::asset_names() const {
  if (settings_.vocabulary.is_list()) return {};  // it is in the config
  return {kVocabularyFile};
}

template <class Token>
SavedParts::Assets IndexLookup<Token>::saved_assets() const {
  if (asset_names().empty()) return {};
  std::string text;
  for (const Token& token : vocabulary()) {
    if constexpr (kOfText<Token>) {
      check<FailedPrecondition>(
          token.find_first_of("\n\r") == std::string::npos,  // readers take both for line ends
          "{}: the token {} has a line's end, and the file of a vocabulary has a line for each. "
          "Give the vocabulary when the layer is made: then it is a list in the config.",
          settings_.label, shown(token));
    }
    text += text_of(token) + '\n';
  }
  if (!text.empty()) text.pop_back();
  return {{kVocabularyFile, std::move(text)}};
}

template <class Token>
void IndexLookup<Token>::load_assets(const Assets& assets) {
  // After the end of the last line there is another, empty one: it is a token if the size says so.
  std::vector<std::string> lines = lines_of(assets.at(0).second + '\n');
  const auto size = static_cast<size_t>(frozen_size_.value_or(0));
  while (lines.size() > size && lines.back().empty()) lines.pop_back();
  std::vector<Token> tokens;
  for (const std::string& line : lines) tokens.push_back(parsed<Token>(line, settings_.label));
  const auto special = special_tokens();
  if (tokens.size() >= special.size() &&
      std::equal(special.begin(), special.end(), tokens.begin())) {
    tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(special.size()));
  }
  check_tokens(tokens);
  set_tokens(std::move(tokens));
}

template class IndexLookup<std::string>;
template class IndexLookup<int64_t>;

}  // namespace cornu::layers
