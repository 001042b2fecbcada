// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/model/layer.h"
#include "layers/argument_types.h"
#include "layers/preprocessing/adapt_data.h"
#include "layers/preprocessing/vocabulary.h"

namespace cornu::layers {

// How texts are standardized or split: by one of Keras's functions, identified by name; by a user's
// function (from a tensor of strings to another); or not at all (None: {} or nullptr). A model with
// a user's function can't be saved.
class TextFunction {
 public:
  TextFunction() = default;
  TextFunction(const char* name) : name_(name ? name : "") {}  // NOLINT: implicit on purpose
  TextFunction(std::string name) : name_(std::move(name)) {}   // NOLINT
  template <class F>
  requires(std::is_invocable_r_v<Tensor, const F&, const Tensor&>)
      TextFunction(F function)  // NOLINT
      : function_(std::move(function)) {}

  const std::string& name() const { return name_; }
  const std::function<Tensor(const Tensor&)>& function() const { return function_; }
  bool given() const { return !name_.empty() || function_ != nullptr; }

 private:
  std::string name_;
  std::function<Tensor(const Tensor&)> function_;
};

struct TextVectorizationOptions {
  std::optional<int64_t> max_tokens = {};  // size of the vocabulary, including "" and "[UNK]"
  TextFunction standardize = "lower_and_strip_punctuation";  // or "lower", "strip_punctuation", …
  TextFunction split = "whitespace";  // or "character"; a function returns the parts along a new
                                      // last axis, shorter rows padded with ""
  OneOrMany<int64_t> ngrams = {};     // n: 1- to n-grams; a list: these lengths
  std::string output_mode = "int";
  std::optional<int64_t> output_sequence_length = {};  // for "int": pad or truncate to it
  bool pad_to_max_tokens = false;
  Vocabulary<std::string> vocabulary = {};
  NumberList idf_weights = {};
  std::string encoding = "utf-8";
  std::string name = {};
};

// keras.layers.TextVectorization: maps texts, (batch) or (batch, 1), to the indices of their tokens
// in a vocabulary. output_mode:
// - "int": int64 (batch, tokens), where shorter texts are padded with 0 and unknown tokens are 1;
//   the length is that of the longest text in the batch, unless output_sequence_length is set.
// - "one_hot", "multi_hot", "count", "tf_idf": (batch, vocabulary), as for StringLookup.
//
// Only ASCII letters are converted to lower case, as in TensorFlow; "character" splits UTF-8. Where
// it can be called, and its files, are as for StringLookup. Ragged outputs aren't supported.
class TextVectorization final : public LayerHandle {
 public:
  explicit TextVectorization(const TextVectorizationOptions& options = {});
  static TextVectorization from_config(const Json& config);
  // Returns a handle to an existing layer of this class, e.g. of a loaded model. Throws
  // InvalidArgument for other layers.
  static TextVectorization of(const LayerHandle& layer);

  // As for StringLookup, with the tokens of the texts.
  void adapt(const AdaptData& data, const AdaptOptions& options = {}) const;
  void set_vocabulary(const Vocabulary<std::string>& vocabulary,
                      const std::vector<double>& idf_weights = {}) const;
  std::vector<std::string> get_vocabulary(bool include_special_tokens = true) const;
  int64_t vocabulary_size() const;

 private:
  struct Of {};
  TextVectorization(std::shared_ptr<Layer> layer, Of) : LayerHandle(std::move(layer)) {}
};

}  // namespace cornu::layers
