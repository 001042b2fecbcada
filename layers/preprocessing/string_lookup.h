// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/model/layer.h"
#include "layers/argument_types.h"
#include "layers/preprocessing/adapt_data.h"
#include "layers/preprocessing/vocabulary.h"

namespace cornu::layers {

struct StringLookupOptions {
  std::optional<int64_t> max_tokens = {};  // size of the vocabulary, including mask and oov tokens
  int64_t num_oov_indices = 1;             // indices for unknown tokens; 0: they are an error
  std::optional<std::string> mask_token = {};  // index 0 ("int"); not in vectors
  std::optional<std::string> oov_token = "[UNK]";
  Vocabulary<std::string> vocabulary = {};  // None: set by adapt or set_vocabulary
  NumberList idf_weights = {};              // for the vocabulary's tokens, with "tf_idf"
  bool invert = false;                      // map indices to tokens
  std::string output_mode = "int";
  bool pad_to_max_tokens = false;  // vectors have max_tokens elements
  std::string encoding = "utf-8";
  OneOrMany<int64_t> salt = {};  // key of the hash that assigns unknown tokens to several indices
  std::string name = {};
};

// keras.layers.StringLookup: maps strings to their indices in a vocabulary or, with invert, indices
// to strings. output_mode:
// - "int": int64, with the input's shape.
// - "one_hot", "multi_hot", "count": int64 vectors with the vocabulary's size, as for
//   CategoryEncoding.
// - "tf_idf": float32, the number of occurrences of each token in the sample times its inverse
//   document frequency.
//
//   layers::StringLookup lookup;
//   lookup.adapt(Tensor::from({"cat", "dog", "cat"}));
//   auto numbers = words.map([=](const Tensor& word) { return Tensor(lookup(word)); });
//
// Strings reside on the host, where no compiled code runs: look them up in a dataset's map, or call
// the layer, or a model that starts with it, on values; fit and predict take numbers.
//
// Files: .keras archives store a vocabulary that wasn't passed to the constructor as a list in
// assets/…/vocabulary.txt, as in Keras.
class StringLookup final : public LayerHandle {
 public:
  explicit StringLookup(const StringLookupOptions& options = {});
  static StringLookup from_config(const Json& config);
  // Returns a handle to an existing layer of this class, e.g. of a loaded model. Throws
  // InvalidArgument for other layers.
  static StringLookup of(const LayerHandle& layer);

  // Sets the vocabulary to the tokens of the data, most frequent first, ties in descending byte
  // order. Each row is a document ("tf_idf"); for a tensor with one axis, each element is, and in a
  // dataset, each batch with one axis. Throws FailedPrecondition if a vocabulary was given, or if
  // vectors would change their size. Must not run while another thread calls the layer.
  void adapt(const AdaptData& data, const AdaptOptions& options = {}) const;
  // Sets the tokens, which must be distinct, with or without leading mask and oov tokens, and
  // idf_weights for "tf_idf". Throws InvalidArgument, with the reason, if they are invalid.
  void set_vocabulary(const Vocabulary<std::string>& vocabulary,
                      const std::vector<double>& idf_weights = {}) const;
  // Returns the tokens by index, optionally without mask and oov tokens.
  std::vector<std::string> get_vocabulary(bool include_special_tokens = true) const;
  int64_t vocabulary_size() const;  // including mask and oov tokens

 private:
  struct Of {};
  StringLookup(std::shared_ptr<Layer> layer, Of) : LayerHandle(std::move(layer)) {}
};

}  // namespace cornu::layers
