// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/onnx/reading/rules.h"

#include <map>

namespace cornu::onnx::reading {
namespace {

const std::map<std::string_view, const Rule*>& all_rules() {
  static const auto* const all = [] {
    auto* made = new std::map<std::string_view, const Rule*>;
    for (const auto& family :
         {activation_rules(), attention_rules(), convolution_rules(), elementwise_rules(),
          image_rules(), index_rules(), normalization_rules(), padding_rules(), pooling_rules(),
          product_rules(), quantization_rules(), recurrent_rules(), reduction_rules(),
          shape_rules()}) {
      for (const Rule& rule : family) made->emplace(rule.op, &rule);
    }
    return made;
  }();
  return *all;
}

}  // namespace

const Rule* rule_of(std::string_view op) {
  const auto found = all_rules().find(op);
  return found == all_rules().end() ? nullptr : found->second;
}

std::vector<std::string> read_operators() {
  std::vector<std::string> result;
  for (const auto& [op, rule] : all_rules()) result.emplace_back(op);
  return result;
}

}  // namespace cornu::onnx::reading
