// SPDX-License-Identifier: Apache-2.0
// Per-channel values have shapes such as (1, 1, 1, C) and (C): in a common shape, one kernel
// computes them.
#include <algorithm>

#include "framework/backends/cuda/passes/passes.h"
#include "framework/graph/passes/rewriter.h"

namespace cornu::cuda {
namespace {

class VectorFlattening {
 public:
  explicit VectorFlattening(passes::Rewriter& graph)
      : graph_(graph), reshape_(OpRegistry::global().at("reshape")) {}

  bool flatten(int index) {
    const Node node = graph_.node(index);
    if (!node.op->traits.elementwise || node.outputs.size() != 1) return false;
    const Shape shape = graph_.shape(node.outputs[0]);
    const int64_t length = shape.num_elements();
    if (shape.rank() < 2 || length < 2 || shape.back() != length) return false;
    const bool fits = std::ranges::all_of(node.inputs, [&](ValueId id) {
      const int64_t count = graph_.shape(id).num_elements();
      return count == 1 || count == length;
    });
    if (!fits) return false;
    std::vector<ValueId> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(flat(index, id));
    const ValueId made = graph_.insert(index, *node.op, std::move(inputs), node.attributes)[0];
    const ValueId back = graph_.insert(index, reshape_, {made}, {{"shape", shape.dims()}})[0];
    graph_.replace(node.outputs[0], back);
    graph_.remove_unused(node.outputs[0]);
    return true;
  }

 private:
  // As a vector, or as a single number.
  ValueId flat(int place, ValueId id) {
    const Shape& shape = graph_.shape(id);
    const int64_t count = shape.num_elements();
    const Shape wanted = count == 1 ? Shape{} : Shape{count};
    if (shape == wanted) return id;
    const Node* before = graph_.producer(id, "reshape");
    if (before && graph_.shape(before->inputs[0]) == wanted) return before->inputs[0];
    return graph_.insert(place, reshape_, {id}, {{"shape", wanted.dims()}})[0];
  }

  passes::Rewriter& graph_;
  const OpDef& reshape_;
};

}  // namespace

Graph flatten_vectors(const Graph& graph) {
  passes::Rewriter rewriter(graph);
  VectorFlattening vectors(rewriter);
  rewriter.apply([&](int index) { return vectors.flatten(index); });
  return rewriter.finish();
}

}  // namespace cornu::cuda
