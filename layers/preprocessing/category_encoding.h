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

// keras.layers.CategoryEncoding: encodes class numbers in [0, num_tokens) as vectors in the layer's
// dtype; other numbers don't count. output_mode:
// - "one_hot": (…) or (…, 1) -> (…, num_tokens), for each number.
// - "multi_hot": (…, length) -> (…, num_tokens), with 1 for each number that occurs along the last
//   axis.
// - "count": the same with the number of occurrences. A second input with the shape of the first
//   weights each number: `layer({numbers, weights})` is Keras's count_weights.
class CategoryEncoding final : public LayerHandle {
 public:
  explicit CategoryEncoding(const CategoryEncodingOptions& options);
  static CategoryEncoding from_config(const Json& config);
};

}  // namespace cornu::layers
