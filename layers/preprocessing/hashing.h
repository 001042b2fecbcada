// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct HashingOptions {
  int64_t num_bins = 0;          // required; includes a bin for mask_value, if given
  Json mask_value = nullptr;     // a string or number with bin 0 to itself
  OneOrMany<int64_t> salt = {};  // one or two numbers: the key of an unpredictable hash
  std::string output_mode = "int";
  std::string name = {};
  DTypeName dtype = {};  // empty: int64 for "int", else float32
  bool trainable = true;
};

// keras.layers.Hashing: maps strings or integers (floats are truncated to integers) to bins by
// TensorFlow's hashes: FarmHash's fingerprint or, with salt, SipHash. output_mode: "int" (with the
// input's shape), "one_hot", "multi_hot" or "count", as for CategoryEncoding.
//
// Numbers can be hashed anywhere. Strings reside on the host: hash them in a model called on
// values, or in a dataset's map.
class Hashing final : public LayerHandle {
 public:
  explicit Hashing(const HashingOptions& options);
  static Hashing from_config(const Json& config);
};

}  // namespace cornu::layers
