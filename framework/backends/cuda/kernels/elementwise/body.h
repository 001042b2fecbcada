// SPDX-License-Identifier: Apache-2.0
// The elementwise ops of a node as the text of a device function.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/backends/cuda/lowering.h"
#include "framework/graph/graph.h"

namespace cornu::cuda {

// What a kernel computes for each element of `shape`: arrays; and sums, either over all rows of the
// array seen as rows of its last axis, or over all elements.
struct ElementwiseBody {
  struct Sum {
    size_t output = 0;    // an output of the node
    int64_t columns = 1;  // number of values in the result
    DType dtype = DType::Float32;
  };
  Shape shape;
  std::vector<TensorType> inputs;
  std::vector<size_t> arrays;  // outputs of the node that have this shape
  std::vector<DType> array_types;
  std::vector<Sum> sums;
  // Device function: void body(x0, x1, …, y0 &, …, s0 &, …): computed values of the inputs, the
  // values to store in the arrays, and the terms of the sums.
  std::string text;

  // The largest number of columns among the sums.
  int64_t columns() const;
};

// Returns nullopt for an op, dtype or shape that no kernel can be made for. Supports "fused", all
// elementwise ops, and "cast".
std::optional<ElementwiseBody> elementwise_body(const KernelSpec& spec);

// For profiles: the first ops that it consists of; also supports "fused" and "fused_rows".
std::string body_name(const KernelSpec& spec);

}  // namespace cornu::cuda
