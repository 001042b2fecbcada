// SPDX-License-Identifier: Apache-2.0
// Mappings from ops to ONNX's operators: one line per op, grouped by family.
#pragma once

#include <span>
#include <string_view>

#include "framework/saving/onnx/graph_writer.h"

namespace cornu::onnx {

struct Mapping {
  std::string_view op;
  // Either the ONNX operator with the same inputs and no attributes, or the function that writes
  // the node.
  const char* same_as = nullptr;
  void (*write)(NodeWriter&) = nullptr;
};

// elementwise_mappings.cc, …
std::span<const Mapping> elementwise_mappings();
std::span<const Mapping> integer_mappings();  // also ops that depend on integer types
std::span<const Mapping> reduction_mappings();
std::span<const Mapping> shape_mappings();
std::span<const Mapping> index_mappings();
std::span<const Mapping> network_mappings();  // matrix products, convolutions, pooling, softmax
std::span<const Mapping> control_mappings();

// Returns null for an unsupported op.
const Mapping* mapping_of(std::string_view op);

}  // namespace cornu::onnx
