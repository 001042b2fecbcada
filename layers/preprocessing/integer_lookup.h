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

struct IntegerLookupOptions {
  std::optional<int64_t> max_tokens = {};  // of the vocabulary, mask and oov tokens included
  int64_t num_oov_indices = 1;             // indices of tokens that it lacks; 0: they are an error
  std::optional<int64_t> mask_token = {};  // index 0 ("int"), or in no vector
  std::optional<int64_t> oov_token = -1;
  Vocabulary<int64_t> vocabulary = {};  // None: adapt or set_vocabulary gives one
  NumberList idf_weights = {};          // of the vocabulary's tokens, for "tf_idf"
  bool invert = false;                  // from indices to tokens
  std::string output_mode = "int";
  bool pad_to_max_tokens = false;       // vectors have max_tokens elements
  std::string oov_method = "floormod";  // or "farmhash": how unknown tokens are parted among
                                        // several indices
  OneOrMany<int64_t> salt = {};         // for "farmhash": a key (SipHash)
  std::string name = {};
};

// keras.layers.IntegerLookup: integers as their indices in a vocabulary. All is as of StringLookup,
// but that it may be compiled, and so be in models that fit and predict; there num_oov_indices must
// be 1 or more. What was compiled before adapt or set_vocabulary keeps the vocabulary of then:
// compile the model again.
class IntegerLookup : public LayerHandle {
 public:
  explicit IntegerLookup(const IntegerLookupOptions& options = {});
  static IntegerLookup from_config(const Json& config);
  // Returns a handle to an existing layer of this class, e.g. of a loaded model. Throws
  // InvalidArgument for other layers.
  static IntegerLookup of(const LayerHandle& layer);

  // As StringLookup's.
  void adapt(const AdaptData& data, const AdaptOptions& options = {}) const;
  void set_vocabulary(const Vocabulary<int64_t>& vocabulary,
                      const std::vector<double>& idf_weights = {}) const;
  std::vector<int64_t> get_vocabulary(bool include_special_tokens = true) const;
  int64_t vocabulary_size() const;

 private:
  struct Of {};
  IntegerLookup(std::shared_ptr<Layer> layer, Of) : LayerHandle(std::move(layer)) {}
};

}  // namespace cornu::layers
