// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/passes/passes.h"
#include "framework/graph/passes/fuse_bias.h"
#include "framework/graph/passes/pass.h"

namespace cornu::cuda {

Graph fuse_kernels(const Graph& graph) {
  passes::Rewriter rewriter(passes::pad_convs(graph));
  passes::BiasFusion bias(rewriter, [](DType dtype) { return is_floating(dtype); });
  rewriter.apply([&](int index) { return bias.fuse_bias(index); });
  rewriter.apply([&](int index) { return bias.fuse_residual(index); });
  rewriter.apply([&](int index) { return bias.fuse_activation(index); });
  return rewriter.finish();
}

}  // namespace cornu::cuda
