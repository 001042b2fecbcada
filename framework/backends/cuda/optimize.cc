// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "framework/backends/cuda/passes/group_alike.h"
#include "framework/backends/cuda/passes/passes.h"
#include "framework/backends/cuda/program.h"
#include "framework/graph/backend.h"
#include "framework/graph/passes/pass.h"
#include "framework/graph/passes/update_rows.h"

namespace cornu::cuda {
namespace {

// All rows at once. Reading and writing a smaller table takes less time than launching the kernels
// that look for rows.
const passes::RowUpdateChoices kRowUpdates = {.least_bytes = int64_t{1} << 20,
                                              .block_bytes = std::numeric_limits<int64_t>::max()};

}  // namespace

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
  run("expand_dropout", expand_dropout(graph));
  run("simplify", passes::simplify(graph, evaluate));
  run("layout", passes::layout(graph));
  run("fuse_kernels", fuse_kernels(graph));
  run("simplify", passes::simplify(graph, evaluate));
  run("update_rows", passes::update_rows(graph, kRowUpdates));
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
