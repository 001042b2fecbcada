// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "framework/backends/cpu/passes/passes.h"
#include "framework/core/zeros.h"
#include "framework/graph/passes/pass.h"
#include "framework/graph/passes/rewriter.h"

namespace cornu::cpu {
namespace {

using Ints = std::vector<int64_t>;

bool all(std::span<const int64_t> values, int64_t value) {
  return std::ranges::all_of(values, [&](int64_t v) { return v == value; });
}

class ConvSimplification {
 public:
  explicit ConvSimplification(const Graph& graph) : graph_(graph) {}

  Graph run() {
    const std::vector<int> order = graph_.order();
    for (int index : order) {
      if (!graph_.removed(index) && is_pointwise(graph_.node(index))) multiply(index);
    }
    return graph_.finish();
  }

 private:
  const Shape& shape(ValueId id) const { return graph_.shape(id); }

  ValueId insert(int place, const char* op, std::vector<ValueId> inputs, Attributes attributes) {
    return graph_.insert(place, OpRegistry::global().at(op), std::move(inputs),
                         std::move(attributes))[0];
  }
  ValueId reshaped(int place, ValueId id, const Shape& to) {
    return shape(id) == to ? id : insert(place, "reshape", {id}, {{"shape", to.dims()}});
  }
  // Reshapes an image to a matrix whose rows are its positions.
  ValueId rows_of(int place, ValueId id) {
    const Shape& from = shape(id);
    return reshaped(place, id, {from.slice(0, from.rank() - 1).num_elements(), from.back()});
  }
  ValueId matmul(int place, ValueId a, ValueId b, bool transpose_a, bool transpose_b) {
    return insert(place, "matmul", {a, b},
                  {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
  }

  // Moves the uses of a node's only output to `id`.
  void replace(int index, ValueId id) {
    const ValueId old = graph_.node(index).outputs[0];
    graph_.replace(old, id);
    graph_.remove_unused(old);
  }

  // Filters of one position: matrix products over the channels.
  bool is_pointwise(const Node& node) const {
    if (!node.is("conv") && !node.is("conv_input_grad") && !node.is("conv_filter_grad")) {
      return false;
    }
    const Shape& filter = shape(node.is("conv_filter_grad") ? node.outputs[0] : node.inputs[1]);
    return is_floating(graph_.type(node.outputs[0]).dtype) &&
           node.attributes.get_int("groups") == 1 && all(node.attributes.get_ints("padding"), 0) &&
           filter.slice(0, filter.rank() - 2).num_elements() == 1;
  }

  void multiply(int index) {
    const Node& node = graph_.node(index);
    const ValueId first = node.inputs[0];
    const ValueId second = node.inputs[1];
    const ValueId old = node.outputs[0];
    if (node.is("conv_filter_grad")) {
      const ValueId x = at_outputs(index, first, shape(second));
      const ValueId product = matmul(index, rows_of(index, x), rows_of(index, second), true, false);
      return replace(index, reshaped(index, product, shape(old)));
    }
    const Shape& taps = shape(second);
    const ValueId filter = reshaped(index, second, taps.slice(taps.rank() - 2, taps.rank()));
    if (node.is("conv")) {
      return replace(index,
                     matmul(index, at_outputs(index, first, shape(old)), filter, false, false));
    }
    replace(index, at_inputs(index, matmul(index, first, filter, false, true), shape(old)));
  }

  // Strides of all axes, including batch and channels.
  Ints steps(int index) const {
    Ints result = graph_.node(index).attributes.get_ints("strides");
    result.insert(result.begin(), 1);
    result.push_back(1);
    return result;
  }

  // The positions of x that outputs are computed from.
  ValueId at_outputs(int index, ValueId x, const Shape& y) {
    const Ints strides = steps(index);
    if (all(strides, 1)) return x;
    Ints size = y.dims();
    size.back() = shape(x).back();
    return insert(index, "slice", {x},
                  {{"begin", Ints(size.size(), 0)}, {"size", size}, {"strides", strides}});
  }

  // The inverse: zeros at the other positions.
  ValueId at_inputs(int index, ValueId gradient, const Shape& x) {
    Ints interior = steps(index);
    if (all(interior, 1)) return gradient;
    Ints high;
    for (size_t i = 0; i < interior.size(); ++i) {
      const auto axis = static_cast<int64_t>(i);
      high.push_back(x[axis] - std::max<int64_t>(0, (shape(gradient)[axis] - 1) * interior[i] + 1));
      --interior[i];
    }
    const ValueId zero =
        insert(index, "constant", {}, {{"value", host_zeros({}, graph_.type(gradient).dtype)}});
    return insert(index, "pad", {gradient, zero},
                  {{"low", Ints(high.size(), 0)}, {"high", high}, {"interior", interior}});
  }

  passes::Rewriter graph_;
};

}  // namespace

Graph simplify_convs(const Graph& graph) {
  return ConvSimplification(passes::pad_convs(graph)).run();
}

}  // namespace cornu::cpu
