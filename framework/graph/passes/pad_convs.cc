// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "framework/graph/passes/pass.h"
#include "framework/graph/passes/rewriter.h"

namespace cornu::passes {
namespace {

using Ints = std::vector<int64_t>;

bool all(const Ints& values, int64_t value) {
  return std::ranges::all_of(values, [&](int64_t v) { return v == value; });
}

// Whether only the spatial axes have non-zero widths, out of batch, spatial axes and channels.
bool is_spatial(const Ints& widths) { return widths.front() == 0 && widths.back() == 0; }

class ConvPadding {
 public:
  explicit ConvPadding(const Graph& graph) : graph_(graph) {}

  Graph run() {
    for (int index : graph_.order()) {
      if (graph_.node(index).is("slice")) gather_slice(index);
    }
    for (int index : graph_.order()) {
      const Node& node = graph_.node(index);
      const bool reads = node.is("conv") || node.is("conv_filter_grad");
      if (reads && !graph_.removed(index)) absorb_pad(index);
    }
    return graph_.finish();
  }

 private:
  const Shape& shape(ValueId id) const { return graph_.shape(id); }

  // A convolution's attributes with `low` and `high` additional padding, given for all axes.
  static Attributes padded(const Node& node, const Ints& low, const Ints& high) {
    Attributes attributes = node.attributes;
    Ints padding = attributes.get_ints("padding");
    for (size_t i = 0; i < padding.size(); ++i) {
      padding[i] += (i % 2 == 0 ? low : high)[i / 2 + 1];
    }
    attributes.set("padding", padding);
    return attributes;
  }

  // Makes a conv(pad(x)) pad by itself.
  void absorb_pad(int index) {
    const Node& node = graph_.node(index);
    const Node* pad = graph_.producer(node.inputs[0], "pad");
    if (!pad || !graph_.is_number(pad->inputs[1], 0) ||
        !all(pad->attributes.get_ints("interior"), 0))
      return;
    const Ints& low = pad->attributes.get_ints("low");
    const Ints& high = pad->attributes.get_ints("high");
    if (!is_spatial(low) || !is_spatial(high)) return;
    const ValueId before = node.inputs[0];
    graph_.set_attributes(index, padded(node, low, high));
    graph_.set_inputs(index, {pad->inputs[0], node.inputs[1]});
    graph_.remove_unused(before);
  }

  // Computes only the part of an input gradient that a slice reads, as the gradient of a pad does;
  // the rest counts as padding.
  void gather_slice(int index) {
    const Node& slice = graph_.node(index);
    const Node* gradient = graph_.producer(slice.inputs[0], "conv_input_grad");
    if (!gradient || graph_.uses(slice.inputs[0]) != 1) return;
    const Shape& part = shape(slice.outputs[0]);
    if (!all(slice.attributes.get_ints("strides"), 1) || part.num_elements() == 0) return;
    const Ints& begin = slice.attributes.get_ints("begin");
    Ints high;
    for (int64_t axis = 0; axis < part.rank(); ++axis) {
      high.push_back(shape(slice.inputs[0])[axis] - begin[static_cast<size_t>(axis)] - part[axis]);
    }
    if (!is_spatial(begin) || !is_spatial(high)) return;
    Attributes attributes = padded(*gradient, begin, high);
    attributes.set("input_shape", part.dims());
    const ValueId old = slice.outputs[0];
    graph_.replace(old, graph_.insert(index, *gradient->op, gradient->inputs, attributes)[0]);
    graph_.remove_unused(old);
  }

  Rewriter graph_;
};

}  // namespace

Graph pad_convs(const Graph& graph) { return ConvPadding(graph).run(); }

}  // namespace cornu::passes
