// SPDX-License-Identifier: Apache-2.0
// Rules for reading ONNX's operators: one line per operator, grouped by family.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/saving/onnx/reading/node_reader.h"

namespace cornu::onnx::reading {

struct Rule {
  std::string_view op;
  void (*read)(NodeReader&);
};

// activation_rules.cc, …
std::span<const Rule> activation_rules();
std::span<const Rule> attention_rules();
std::span<const Rule> convolution_rules();
std::span<const Rule> elementwise_rules();
std::span<const Rule> image_rules();  // for pixels: resizing, blocks
std::span<const Rule> index_rules();
std::span<const Rule> normalization_rules();
std::span<const Rule> padding_rules();
std::span<const Rule> pooling_rules();
std::span<const Rule> product_rules();
std::span<const Rule> quantization_rules();
std::span<const Rule> recurrent_rules();
std::span<const Rule> reduction_rules();
std::span<const Rule> shape_rules();

// The matrix product. Limits those of constants, which may be slow.
Tensor multiplied(NodeReader& n, const Tensor& x, const Tensor& y);

// Divides x by y; integer division rounds toward zero.
Tensor divided(const Tensor& x, const Tensor& y);

// Returns null for an unsupported operator.
const Rule* rule_of(std::string_view op);
std::vector<std::string> read_operators();

}  // namespace cornu::onnx::reading
