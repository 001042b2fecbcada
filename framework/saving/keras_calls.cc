// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/keras_calls.h"

#include <set>
#include <string>

namespace cornu {

int64_t first_call(const Layer& layer) { return layer.class_name() == "Functional" ? 1 : 0; }

bool says_training(const Layer& layer, bool training) {
  static const std::set<std::string> kWithoutDefault = {
      "BatchNormalization", "Bidirectional",       "Dense",          "EinsumDense",
      "Functional",         "GroupQueryAttention", "Lambda",         "Model",
      "MultiHeadAttention", "Sequential",          "TimeDistributed"};
  return training != layer.training_by_default() || kWithoutDefault.contains(layer.class_name());
}

}  // namespace cornu
