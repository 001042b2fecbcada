// SPDX-License-Identifier: Apache-2.0
// The vocabulary of a lookup layer: maps tokens to indices and back. Internal: layers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "framework/model/saved_parts.h"
#include "framework/ops/shape.h"
#include "layers/preprocessing/adapt_data.h"
#include "layers/preprocessing/string_hash.h"
#include "layers/preprocessing/vocabulary.h"

namespace cornu::layers {

// Options shared by both lookup layers.
template <class Token>
struct LookupSettings {
  std::string label;  // prefix of errors: "StringLookup 'words'"
  std::optional<int64_t> max_tokens;
  int64_t num_oov_indices = 1;
  std::optional<Token> mask_token;
  std::optional<Token> oov_token;
  std::vector<double> idf_weights;  // for the vocabulary, if output_mode is "tf_idf"
  bool invert = false;
  std::string output_mode;
  bool pad_to_max_tokens = false;
  bool hash_oov = true;  // else unknown integers are taken modulo num_oov_indices
  std::optional<HashKey> salt;
  Vocabulary<Token> vocabulary;
  std::optional<int64_t> vocabulary_size;  // from a config, before there is a vocabulary
};

// keras.src.layers.preprocessing.index_lookup.IndexLookup. Indices start with the mask token's (0,
// if there is one and output_mode is "int"), followed by those for out-of-vocabulary tokens, then
// the tokens'. Calls are thread-safe; changes require exclusive access.
template <class Token>
class IndexLookup : public SavedParts {
 public:
  // Throws InvalidArgument for invalid settings.
  explicit IndexLookup(LookupSettings<Token> settings);

  // Supports values, traces of integers, and type inference.
  Tensor call(const Tensor& x) const;
  // The result for indices of this shape, for type inference.
  Tensor stand_in(const Shape& shape) const { return encoded(ops::zeros(shape, DType::Int64)); }

  void set_vocabulary(const Vocabulary<Token>& vocabulary, const std::vector<double>& idf_weights);
  std::vector<Token> vocabulary(bool include_special_tokens = true) const;
  int64_t size() const { return token_start() + std::ssize(tokens_); }
  // The size of outputs, once known.
  const std::optional<int64_t>& frozen_size() const { return frozen_size_; }

  // Whether adapt is to determine the vocabulary, and whether there is one.
  bool learns() const { return !settings_.vocabulary.given(); }
  bool has_learned() const { return known_; }
  // Counts the tokens of all data from scratch, and uses the most frequent ones.
  void adapt(const AdaptData& data, const AdaptOptions& options,
             const std::function<Tensor(const Tensor&)>& tokens_of);

  Values saved_values() const override;
  void load_values(const Values& values) override;
  Assets saved_assets() const override;
  std::vector<std::string> asset_names() const override;
  void load_assets(const Assets& assets) override;

 private:
  struct Counts;

  bool is_int() const { return settings_.output_mode == "int"; }
  bool is_idf() const { return settings_.output_mode == "tf_idf"; }
  int64_t oov_start() const { return settings_.mask_token && is_int() ? 1 : 0; }
  int64_t token_start() const { return oov_start() + settings_.num_oov_indices; }
  int64_t depth() const;
  void check_settings() const;
  std::vector<std::optional<Token>> special_tokens() const;

  Tensor indices_of_values(const Tensor& x) const;
  Tensor indices_of_integers(const Tensor& x) const;
  Tensor oov_indices(const Tensor& x) const;
  Tensor tokens_at(const Tensor& indices) const;
  Tensor encoded(const Tensor& indices) const;

  std::vector<Token> read_file(const std::string& path) const;
  void check_tokens(const std::vector<Token>& tokens) const;
  void set_tokens(std::vector<Token> tokens);
  void set_idf(const std::vector<double>& weights, bool of_all);
  void count(const Tensor& batch, Counts& counts) const;
  void learn(Counts& counts);
  template <class... Args>
  void require(bool ok, fmt::format_string<Args...> format, Args&&... args) const {
    if (!ok) [[unlikely]]
      raise<InvalidArgument>("{}: {}", settings_.label,
                             fmt::format(format, std::forward<Args>(args)...));
  }

  LookupSettings<Token> settings_;
  bool known_ = false;         // whether there is a vocabulary
  std::vector<Token> tokens_;  // excluding special tokens
  std::unordered_map<Token, int64_t> index_;
  Tensor sorted_tokens_;  // for integers: for traces
  Tensor sorted_indices_;
  std::optional<int64_t> frozen_size_;
  Tensor idf_weights_;  // float32 (depth)
};

extern template class IndexLookup<std::string>;
extern template class IndexLookup<int64_t>;

}  // namespace cornu::layers
