// SPDX-License-Identifier: Apache-2.0
// Attention with dropout stores all probabilities: products on tensor cores and passes over memory
// are faster than kernels that recompute each score.
#include <string_view>
#include <utility>
#include <vector>

#include "framework/backends/cuda/passes/passes.h"
#include "framework/graph/attention_dropout.h"
#include "framework/graph/hidden_score.h"
#include "framework/graph/passes/rewriter.h"

namespace cornu::cuda {
namespace {

using Ints = std::vector<int64_t>;

Tensor number(double value, DType dtype) {
  return dispatch_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (sizeof(T) == 2) {
      return Tensor::scalar(T(static_cast<float>(value)));
    } else {
      return Tensor::scalar(static_cast<T>(value));
    }
  });
}

// The nodes that replace an attention or its gradient. Heads that share a key become further rows
// of its matrices: queries and outputs are (batch, keys, shared * T, ·), keys and values (batch,
// keys, S, ·), and scores (batch, heads, T, S).
class PlainNodes {
 public:
  // `others`: the index of the first operand that not all of them have.
  PlainNodes(passes::Rewriter& graph, int place, const Node& node, size_t others)
      : graph_(graph),
        place_(place),
        attributes_(node.attributes),
        inputs_(node.inputs),
        others_(others),
        query_(graph.shape(node.inputs[0])),
        key_(graph.shape(node.inputs[1])),
        dtype_(graph.type(node.inputs[0]).dtype),
        rows_(of_rows(node.inputs[0])),
        keys_(of_columns(node.inputs[1])),
        values_(of_columns(node.inputs[2])) {
    see();
    scores_ = as_scores(product(rows_, keys_, false, true));
    scores_ = times(scores_, attributes_.get_double("scale"));
    if (attributes_.get_bool("bias")) scores_ = add("add", {scores_, inputs_[others_]});
    if (seen_ >= 0) scores_ = add("select", {seen_, scores_, scalar(hidden_score(dtype_))});
    probabilities_ = add("softmax", {scores_}, {{"axis", int64_t{3}}});
  }

  ValueId output() {
    const ValueId sums = product(as_rows(dropped(probabilities_)), values_, false, false);
    return of_heads(sums);
  }

  // The row maxima of scores, and the sums of exponentials relative to them.
  ValueId statistics(DType dtype) {
    const ValueId scores = cast(scores_, dtype);
    const Attributes along = {{"axes", Ints{3}}, {"keepdims", true}};
    const ValueId largest = add("reduce_max", {scores}, along);
    const ValueId powers = add("exp", {add("subtract", {scores, largest})});
    const ValueId sums = add("reduce_sum", {powers}, along);
    return add("concatenate", {largest, sums}, {{"axis", int64_t{3}}});
  }

  // Of query, key, value and, if required, bias.
  std::vector<ValueId> gradients() {
    const ValueId dy = of_rows(inputs_[5]);
    const ValueId of_weights = dropped(as_scores(product(dy, values_, false, true)));
    const ValueId means = add("reduce_sum", {add("multiply", {dy, of_rows(inputs_[3])})},
                              {{"axes", Ints{3}}, {"keepdims", true}});
    const ValueId apart =
        add("subtract", {of_weights, reshaped(means, {query_[0], query_[2], query_[1], 1})});
    ValueId of_scores = add("multiply", {probabilities_, apart});
    if (seen_ >= 0) of_scores = add("select", {seen_, of_scores, scalar(0)});
    const ValueId of_products = as_rows(times(of_scores, attributes_.get_double("scale")));
    const ValueId weights = as_rows(dropped(probabilities_));
    std::vector<ValueId> results = {of_heads(product(of_products, keys_, false, false)),
                                    columns_back(product(of_products, rows_, true, false)),
                                    columns_back(product(weights, dy, true, false))};
    if (attributes_.get_bool("bias_gradient")) {
      results.push_back(summed_to(of_scores, graph_.shape(inputs_[others_])));
    }
    return results;
  }

 private:
  ValueId add(const char* op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return graph_.insert(place_, OpRegistry::global().at(op), std::move(inputs),
                         std::move(attributes))[0];
  }
  ValueId scalar(double value) { return add("constant", {}, {{"value", number(value, dtype_)}}); }
  ValueId times(ValueId x, double factor) { return add("multiply", {x, scalar(factor)}); }
  ValueId reshaped(ValueId x, const Shape& shape) {
    return graph_.shape(x) == shape ? x : add("reshape", {x}, {{"shape", shape.dims()}});
  }
  ValueId transposed(ValueId x, Ints permutation) {
    return add("transpose", {x}, {{"permutation", std::move(permutation)}});
  }
  ValueId cast(ValueId x, DType dtype) {
    return graph_.type(x).dtype == dtype ? x : add("cast", {x}, {{"dtype", dtype}});
  }
  ValueId product(ValueId a, ValueId b, bool transpose_a, bool transpose_b) {
    return add("matmul", {a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
  }

  int64_t shared() const { return query_[2] / key_[2]; }
  ValueId of_rows(ValueId x) {
    const int64_t size = graph_.shape(x)[3];
    if (shared() == 1) return of_columns(x);
    const ValueId apart = reshaped(x, {query_[0], query_[1], key_[2], shared(), size});
    return reshaped(transposed(apart, {0, 2, 3, 1, 4}),
                    {query_[0], key_[2], shared() * query_[1], size});
  }
  ValueId of_columns(ValueId x) { return transposed(x, {0, 2, 1, 3}); }
  ValueId columns_back(ValueId x) { return transposed(x, {0, 2, 1, 3}); }
  // (batch, T, heads, ·)
  ValueId of_heads(ValueId x) {
    const int64_t size = graph_.shape(x)[3];
    return columns_back(reshaped(x, {query_[0], query_[2], query_[1], size}));
  }
  ValueId as_scores(ValueId x) { return reshaped(x, {query_[0], query_[2], query_[1], key_[1]}); }
  ValueId as_rows(ValueId x) {
    return reshaped(x, {query_[0], key_[2], shared() * query_[1], key_[1]});
  }

  // Determines which scores are visible, if some are hidden.
  void see() {
    if (attributes_.get_bool("mask")) {
      seen_ = inputs_[others_ + (attributes_.get_bool("bias") ? 1 : 0)];
    }
    if (!attributes_.get_bool("causal")) return;
    const auto places = [&](Ints shape) {
      return add("iota", {},
                 {{"shape", std::move(shape)}, {"axis", int64_t{0}}, {"dtype", DType::Int32}});
    };
    const ValueId before = add("greater_equal", {places({query_[1], 1}), places({key_[1]})});
    seen_ = seen_ < 0 ? before : add("logical_and", {seen_, before});
  }

  ValueId dropped(ValueId x) {
    const double scale = kept_scale(attention_dropout(attributes_));
    return add("select", {inputs_.back(), times(x, scale), scalar(0)});
  }

  // Sums over the axes along which `shape` was broadcast.
  ValueId summed_to(ValueId x, const Shape& shape) {
    Ints axes;
    for (int64_t axis = 0; axis < 4; ++axis) {
      if (shape[axis] == 1 && graph_.shape(x)[axis] != 1) axes.push_back(axis);
    }
    return axes.empty() ? x : add("reduce_sum", {x}, {{"axes", axes}, {"keepdims", true}});
  }

  passes::Rewriter& graph_;
  int place_;
  Attributes attributes_;
  std::vector<ValueId> inputs_;
  size_t others_;
  Shape query_, key_;
  DType dtype_;
  ValueId rows_, keys_, values_;
  ValueId seen_ = -1;
  ValueId scores_ = -1;
  ValueId probabilities_ = -1;
};

bool expands(const passes::Rewriter& graph, const Node& node, std::string_view op) {
  if (!node.is(op) || attention_dropout(node.attributes) == 0) return false;
  for (size_t i = 0; i < 3; ++i) {
    if (graph.shape(node.inputs[i]).num_elements() == 0) return false;  // zeros, without kernels
  }
  return true;
}

}  // namespace

Graph expand_dropout(const Graph& graph) {
  passes::Rewriter rewriter(graph);
  rewriter.apply([&](int index) {
    const Node node = rewriter.node(index);
    if (!expands(rewriter, node, "attention_grad")) return false;
    const std::vector<ValueId> made = PlainNodes(rewriter, index, node, 6).gradients();
    for (size_t i = 0; i < made.size(); ++i) rewriter.replace(node.outputs[i], made[i]);
    rewriter.remove(index);
    return true;
  });
  rewriter.apply([&](int index) {
    const Node node = rewriter.node(index);
    if (!expands(rewriter, node, "attention")) return false;
    PlainNodes nodes(rewriter, index, node, 3);
    rewriter.replace(node.outputs[0], nodes.output());
    const ValueId statistics = node.outputs[1];
    if (rewriter.uses(statistics) > 0) {
      rewriter.replace(statistics, nodes.statistics(rewriter.type(statistics).dtype));
    }
    rewriter.remove(index);
    return true;
  });
  return rewriter.finish();
}

}  // namespace cornu::cuda
