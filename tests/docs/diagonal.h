// SPDX-License-Identifier: Apache-2.0
// The op of docs/adding/op.md. In the source tree, the two halves are two files: framework/ops
// knows nothing about kernels, and a backend nothing about gradients.
#pragma once

#include "framework/backends/cpu/kernel.h"
#include "framework/ops/definition.h"
#include "framework/ops/ops.h"

// ---- the definition: framework/ops ----

namespace cornu::ops {

using namespace internal;

// The diagonals of square matrices: (…, n, n) -> (…, n).
inline Tensor main_diagonal(const Tensor& x) { return call<"main_diagonal">({x}); }

inline Types infer_diagonal(TypeSpan inputs, const Attributes&) {
  require_inputs(inputs, 1, "main_diagonal");
  require_rank(inputs[0], 2, "main_diagonal");
  const Shape& shape = inputs[0].shape;
  const int64_t rank = shape.rank();
  check<InvalidArgument>(
      shape[rank - 2] == shape[rank - 1],
      "main_diagonal: expected square matrices, got shape {}. Cut them first, for "
      "example with ops::slice_axis.",
      shape);
  return {{inputs[0].dtype, shape.slice(0, rank - 1)}};
}

inline Tensor vjp_diagonal(const VjpContext& c) {
  const Tensor& dy = c.gradient();
  return expand_dims(dy, -1) * eye(dy.shape().back(), dy.dtype());
}

inline void register_diagonal(OpRegistry& registry) {
  registry.add({.name = "main_diagonal",
                .infer = infer_diagonal,
                .vjp = single(vjp_diagonal),
                .traits = {}});
}

}  // namespace cornu::ops

// ---- the kernel: framework/backends/cpu/kernels ----

namespace cornu::cpu {

inline std::unique_ptr<Kernel> make_diagonal(const KernelSpec& spec) {
  const size_t size = size_of(spec.inputs[0].dtype);
  const int64_t count = spec.outputs[0].shape.num_elements();
  const int64_t n = spec.outputs[0].shape.back();
  return make_kernel([=](const KernelArgs& args) {
    const auto* in = static_cast<const std::byte*>(args.in[0]);
    auto* out = static_cast<std::byte*>(args.out[0]);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t from = i / n * n * n + i % n * (n + 1);
      std::memcpy(out + static_cast<size_t>(i) * size, in + static_cast<size_t>(from) * size, size);
    }
  });
}

inline void register_diagonal_kernels(KernelTable& table) {
  table.add("main_diagonal", make_diagonal);
}

}  // namespace cornu::cpu
