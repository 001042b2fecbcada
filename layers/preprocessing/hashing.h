// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct HashingOptions {
  int64_t num_bins = 0;          // required; one of them is for mask_value where that is given
  Json mask_value = nullptr;     // a string or a number that is in bin 0, alone
  OneOrMany<int64_t> salt = {};  // one or two numbers: a key for hashes that none can foretell
  std::string output_mode = "int";
  std::string name = {};
  DTypeName dtype = {};  // empty: int64 for "int", else float32
  bool trainable = true;
};

// keras.layers.Hashing: strings or integers (floats as the integers they are cut to) in bins by
// TensorFlow's hashes: FarmHash's fingerprint, with salt SipHash. output_mode: "int" (of the
// input's shape), "one_hot", "multi_hot" or "count", as of CategoryEncoding.
//
// Numbers are hashed wherever the layer is. Strings lie on the host: in a model that is called on
// values, or in a dataset's map.
class Hashing : public LayerHandle {
 public:
  explicit Hashing(const HashingOptions& options);
  static Hashing from_config(const Json& config);
};

}  // namespace cornu::layers
