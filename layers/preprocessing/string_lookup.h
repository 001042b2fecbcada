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
  std::optional<int64_t> max_tokens = {};  // of the vocabulary, mask and oov tokens included
  int64_t num_oov_indices = 1;             // indices of tokens that it lacks; 0: they are an error
  std::optional<std::string> mask_token = {};  // index 0 ("int"), or in no vector
  std::optional<std::string> oov_token = "[UNK]";
  Vocabulary<std::string> vocabulary = {};  // None: adapt or set_vocabulary gives one
  NumberList idf_weights = {};              // of the vocabulary's tokens, for "tf_idf"
  bool invert = false;                      // from indices to tokens
  std::string output_mode = "int";
  bool pad_to_max_tokens = false;  // vectors have max_tokens elements
  std::string encoding = "utf-8";
  OneOrMany<int64_t> salt = {};  // of the hash that parts unknown tokens among several indices
  std::string name = {};
};

// keras.layers.StringLookup: strings as their indices in a vocabulary, or with invert the other way
// round. output_mode:
// - "int": int64, of the input's shape.
// - "one_hot", "multi_hot", "count": int64 vectors of the vocabulary's size, as of
//   CategoryEncoding.
// - "tf_idf": float32, how often each token is in the sample times its inverse document frequency.
//
//   layers::StringLookup lookup;
//   lookup.adapt(Tensor::from({"cat", "dog", "cat"}));
//   auto numbers = words.map([=](const Tensor& word) { return Tensor(lookup(word)); });
//
// Strings lie on the host, where no compiled code is: look them up in a dataset's map, or call
// the layer, or a model that begins with it, on values; fit and predict take numbers.
//
// Files: .keras archives hold a vocabulary that wasn't given to the constructor as a list in
// assets/…/vocabulary.txt, as Keras's do.
class StringLookup : public LayerHandle {
 public:
  explicit StringLookup(const StringLookupOptions& options = {});
  static StringLookup from_config(const Json& config);
  // Returns a handle to an existing layer of this class, e.g. of a loaded model. Throws
  // InvalidArgument for other layers.
  static StringLookup of(const LayerHandle& layer);

  // Sets the vocabulary to the tokens of the data, the most frequent ones first, then in falling
  // order of the bytes. Each row is a document ("tf_idf"); of a tensor of one axis, each element,
  // in a dataset each batch of one axis. FailedPrecondition where a vocabulary was given, or where
  // vectors would change their size. Not while another thread calls the layer.
  void adapt(const AdaptData& data, const AdaptOptions& options = {}) const;
  // Tokens that must differ, with or without mask and oov tokens at their start; idf_weights for
  // "tf_idf". InvalidArgument that says what is wrong with them.
  void set_vocabulary(const Vocabulary<std::string>& vocabulary,
                      const std::vector<double>& idf_weights = {}) const;
  // By index, or without mask and oov tokens.
  std::vector<std::string> get_vocabulary(bool include_special_tokens = true) const;
  int64_t vocabulary_size() const;  // mask and oov tokens included

 private:
  struct Of {};
  StringLookup(std::shared_ptr<Layer> layer, Of) : LayerHandle(std::move(layer)) {}
};

}  // namespace cornu::layers
