// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/passes/group_alike.h"
#include "framework/backends/cuda/passes/passes.h"
#include "framework/backends/cuda/program.h"
#include "framework/graph/backend.h"
#include "framework/graph/passes/pass.h"

namespace cornu::cuda {

Graph optimize(Graph graph, passes::Dump& dump) {
  const passes::Evaluator evaluate = [](const OpDef& op, std::span<const Tensor> inputs,
                                        const Attributes& attributes,
                                        std::span<const TensorType> types) {
    return cpu_backend().execute(op, inputs, attributes, types, Device{});
  };
  dump.write("traced", graph);
  const auto run = [&](const char* pass, Graph after) {
    graph = std::move(after);
    dump.write(pass, graph);
  };
  run("simplify", passes::simplify(graph, evaluate));
  run("layout", passes::layout(graph));
  run("fuse_kernels", fuse_kernels(graph));
  run("simplify", passes::simplify(graph, evaluate));
  run("fuse_rows", fuse_rows(graph));
  run("fuse_moments", fuse_moments(graph));
  run("flatten_vectors", flatten_vectors(graph));
  run("simplify", passes::simplify(graph, evaluate));
  run("fuse_elementwise", passes::fuse_elementwise(graph, kFusion));
  run("group_alike", group_alike(std::move(graph)));
  return graph;
}

Graph optimize(Graph graph, const std::string& name) {
  passes::Dump dump(name);
  return optimize(std::move(graph), dump);
}

}  // namespace cornu::cuda
