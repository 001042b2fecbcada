// SPDX-License-Identifier: Apache-2.0
// How ONNX's operators are read: one line an operator, by family.
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
std::span<const Rule> convolution_rules();
std::span<const Rule> elementwise_rules();
std::span<const Rule> image_rules();  // of pixels: resizing, blocks of them
std::span<const Rule> index_rules();
std::span<const Rule> normalization_rules();
std::span<const Rule> pooling_rules();
std::span<const Rule> product_rules();
std::span<const Rule> recurrent_rules();
std::span<const Rule> reduction_rules();
std::span<const Rule> shape_rules();

// Of integers towards 0.
Tensor divided(const Tensor& x, const Tensor& y);

// Null for an operator that isn't read.
const Rule* rule_of(std::string_view op);
std::vector<std::string> read_operators();

}  // namespace cornu::onnx::reading
