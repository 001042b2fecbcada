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
  std::optional<int64_t> max_tokens = {};  // size of the vocabulary, including mask and oov tokens
  int64_t num_oov_indices = 1;             // indices for unknown tokens; 0: they are an error
  std::optional<int64_t> mask_token = {};  // index 0 ("int"); not in vectors
  std::optional<int64_t> oov_token = -1;
  Vocabulary<int64_t> vocabulary = {};  // None: set by adapt or set_vocabulary
  NumberList idf_weights = {};          // for the vocabulary's tokens, with "tf_idf"
  bool invert = false;                  // map indices to tokens
  std::string output_mode = "int";
  bool pad_to_max_tokens = false;       // vectors have max_tokens elements
  std::string oov_method = "floormod";  // or "farmhash": how unknown tokens are assigned to several
                                        // indices
  OneOrMany<int64_t> salt = {};         // for "farmhash": a key (SipHash)
  std::string name = {};
};

// keras.layers.IntegerLookup: maps integers to their indices in a vocabulary. Everything is as for
// StringLookup, except that it can be compiled and therefore be part of models in fit and predict,
// where num_oov_indices must be at least 1. Functions compiled before adapt or set_vocabulary keep
// the old vocabulary: compile the model again.
class IntegerLookup final : public LayerHandle {
 public:
  explicit IntegerLookup(const IntegerLookupOptions& options = {});
  static IntegerLookup from_config(const Json& config);
  // Returns a handle to an existing layer of this class, e.g. of a loaded model. Throws
  // InvalidArgument for other layers.
  static IntegerLookup of(const LayerHandle& layer);

  // As for StringLookup.
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
