// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct CategoryEncodingOptions {
  int64_t num_tokens = 0;  // required
  std::string output_mode = "multi_hot";
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.CategoryEncoding: class numbers in [0, num_tokens) as vectors, in the layer's dtype;
// others count nowhere. output_mode:
// - "one_hot": (…) or (…, 1) -> (…, num_tokens), of each number.
// - "multi_hot": (…, length) -> (…, num_tokens), with 1 for each number of the last axis.
// - "count": the same with how often it is there. A second input, of the first one's shape, weighs
//   each of them: `layer({numbers, weights})` is Keras's count_weights.
class CategoryEncoding : public LayerHandle {
 public:
  explicit CategoryEncoding(const CategoryEncodingOptions& options);
  static CategoryEncoding from_config(const Json& config);
};

}  // namespace cornu::layers
