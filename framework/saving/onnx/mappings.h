// SPDX-License-Identifier: Apache-2.0
// How ops are written as ONNX's operators: one line an op, by family.
#pragma once

#include <span>
#include <string_view>

#include "framework/saving/onnx/graph_writer.h"

namespace cornu::onnx {

struct Mapping {
  std::string_view op;
  // Either ONNX's operator of the same inputs, without attributes, or what writes the node.
  const char* same_as = nullptr;
  void (*write)(NodeWriter&) = nullptr;
};

// elementwise_mappings.cc, …
std::span<const Mapping> elementwise_mappings();
std::span<const Mapping> integer_mappings();  // and what depends on whether numbers are integers
std::span<const Mapping> reduction_mappings();
std::span<const Mapping> shape_mappings();
std::span<const Mapping> index_mappings();
std::span<const Mapping> network_mappings();  // matrix products, convolutions, pooling, softmax
std::span<const Mapping> control_mappings();

// Null for an op that isn't written.
const Mapping* mapping_of(std::string_view op);

}  // namespace cornu::onnx
