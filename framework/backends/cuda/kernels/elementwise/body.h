// SPDX-License-Identifier: Apache-2.0
// The elementwise ops of a node as the text of a device function.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/backends/cuda/lowering.h"
#include "framework/graph/graph.h"

namespace cornu::cuda {

// What a kernel computes for each element of `shape`: arrays, and sums over all rows of it, seen as
// rows of its last axis, or over everything.
struct ElementwiseBody {
  struct Sum {
    size_t output = 0;    // of the node
    int64_t columns = 1;  // that it leaves
    DType dtype = DType::Float32;
  };
  Shape shape;
  std::vector<TensorType> inputs;
  std::vector<size_t> arrays;  // outputs of the node that have the shape
  std::vector<DType> array_types;
  std::vector<Sum> sums;
  // Device function: void body(x0, x1, …, y0 &, …, s0 &, …): computed values of the inputs; what is
  // stored in the arrays; and what is summed up.
  std::string text;

  // Of the sums that leave most of them.
  int64_t columns() const;
};

// None for an op, a dtype or a shape that no kernel can be made for. Of "fused", of any elementwise
// op, or of "cast".
std::optional<ElementwiseBody> elementwise_body(const KernelSpec& spec);

// For profiles: the first ops that it consists of; of "fused" and "fused_rows", too.
std::string body_name(const KernelSpec& spec);

}  // namespace cornu::cuda
