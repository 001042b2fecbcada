// SPDX-License-Identifier: Apache-2.0
// A batch normalization sums its input, then the squares of its deviations from the mean: both are
// computed in a single pass over the input.
#include "framework/backends/cuda/passes/passes.h"
#include "framework/graph/passes/elementwise_groups.h"
#include "framework/graph/passes/rewriter.h"

namespace cornu::cuda {
namespace {

std::vector<TensorType> infer_moments(std::span<const TensorType> inputs,
                                      const Attributes& attributes) {
  const auto columns = passes::summed_columns(inputs[0].shape, attributes.get_ints("axes"));
  CORNU_ASSERT(columns.has_value(), ==, true);
  const DType dtype = is_half(inputs[0].dtype) ? DType::Float32 : inputs[0].dtype;
  return {{dtype, {*columns}}, {dtype, {*columns}}};
}

const OpDef& moments_op() {
  static const OpDef& op = OpRegistry::global().add(
      {.name = "column_moments", .infer = infer_moments, .vjp = {}, .traits = {.of_passes = true}});
  return op;
}

class MomentsFusion {
 public:
  explicit MomentsFusion(passes::Rewriter& graph) : graph_(graph) {}

  // `index`: the node of the sum of squares.
  bool fuse(int index) {
    const Node squares = graph_.node(index);
    if (!squares.is("reduce_sum")) return false;
    const Node* square = graph_.producer(squares.inputs[0], "square");
    const Node* centered = square ? graph_.producer(square->inputs[0], "subtract") : nullptr;
    if (!centered) return false;
    const ValueId x = centered->inputs[0];
    const Node* mean = graph_.producer(centered->inputs[1], "divide");
    const Node* sum = mean ? graph_.producer(mean->inputs[0], "reduce_sum") : nullptr;
    // A sum that others also read must be as exact as any.
    if (!sum || graph_.uses(mean->inputs[0]) != 1) return false;
    if (sum->inputs[0] != x || graph_.shape(centered->outputs[0]) != graph_.shape(x) ||
        !is_of_columns(x, squares) || !is_of_columns(x, *sum)) {
      return false;
    }
    const auto count = static_cast<double>(graph_.shape(x).num_elements() /
                                           graph_.shape(sum->outputs[0]).num_elements());
    if (!graph_.is_number(mean->inputs[1], count)) return false;
    const ValueId old_sum = sum->outputs[0];
    const ValueId old_squares = squares.outputs[0];
    const int place = graph_.producer_number(old_sum);
    const std::vector<ValueId> made = graph_.insert(place, moments_op(), {read_of(x)},
                                                    {{"axes", sum->attributes.get_ints("axes")}});
    replace(place, old_sum, made[0]);
    replace(place, old_squares, made[1]);
    return true;
  }

 private:
  bool is_of_columns(ValueId x, const Node& sum) const {
    if (graph_.type(x).dtype != DType::Float32 && graph_.type(x).dtype != DType::Float64) {
      return false;
    }
    const auto columns = passes::summed_columns(graph_.shape(x), sum.attributes.get_ints("axes"));
    return columns && *columns > 1;
  }

  // 16-bit floats are read directly, unless their producer is fused with other readers, which then
  // use the unrounded values.
  ValueId read_of(ValueId x) const {
    const Node* cast = graph_.producer(x, "cast");
    const bool widens = cast && is_half(graph_.type(cast->inputs[0]).dtype);
    const Node* maker = widens ? graph_.producer(cast->inputs[0]) : nullptr;
    if (maker && maker->op->traits.elementwise) return x;
    return widens && graph_.type(x).dtype == DType::Float32 ? cast->inputs[0] : x;
  }

  void replace(int place, ValueId old, ValueId made) {
    graph_.replace(old, graph_.insert(place, OpRegistry::global().at("reshape"), {made},
                                      {{"shape", graph_.shape(old).dims()}})[0]);
    graph_.remove_unused(old);
  }

  passes::Rewriter& graph_;
};

}  // namespace

Graph fuse_moments(const Graph& graph) {
  moments_op();  // registers the op even if the graph has none
  passes::Rewriter rewriter(graph);
  MomentsFusion moments(rewriter);
  rewriter.apply([&](int index) { return moments.fuse(index); });
  return rewriter.finish();
}

}  // namespace cornu::cuda
