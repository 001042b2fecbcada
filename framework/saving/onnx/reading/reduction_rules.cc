// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/ops.h"
#include "framework/saving/onnx/reading/rules.h"

namespace cornu::onnx::reading {
namespace {

using Reduction = Tensor (*)(const Tensor&, const Axes&, bool);

struct ReducedAxes {
  Axes axes;
  bool keepdims = true;
};

// An input since operator set 18 (13 for ReduceSum), previously an attribute.
ReducedAxes reduced_axes(NodeReader& n) {
  ReducedAxes result;
  result.keepdims = n.integer("keepdims", 1) != 0;
  const std::optional<Ints> given = n.integers(1, "axes");
  if (given && !given->empty()) {
    result.axes = *given;
  } else if (n.integer("noop_with_empty_axes", 0) != 0) {
    result.axes = Ints();  // no axes; but e.g. squaring still applies
  }
  return result;
}

template <Reduction kReduce>
void read_reduction(NodeReader& n) {
  const ReducedAxes how = reduced_axes(n);
  const Tensor x = n.in();
  const bool truths = x.dtype() == DType::Bool;
  const Tensor y = kReduce(truths ? ops::cast(x, DType::Int32) : x, how.axes, how.keepdims);
  n.give(ops::cast(y, x.dtype()));
}

Tensor sum_of_squares(const Tensor& x, const Axes& axes, bool keepdims) {
  return ops::sum(ops::square(x), axes, keepdims);
}
Tensor norm_1(const Tensor& x, const Axes& axes, bool keepdims) {
  return ops::sum(ops::abs(x), axes, keepdims);
}
Tensor norm_2(const Tensor& x, const Axes& axes, bool keepdims) {
  return ops::sqrt(sum_of_squares(x, axes, keepdims));
}
// For integers, rounds toward zero.
Tensor mean_of(const Tensor& x, const Axes& axes, bool keepdims) {
  if (!is_integer(x.dtype())) return ops::mean(x, axes, keepdims);
  const Tensor wide = x.dtype() == DType::UInt64 ? x : ops::cast(x, DType::Int64);
  return divided(ops::sum(wide, axes, keepdims), ops::sum(ops::ones_like(wide), axes, keepdims));
}
Tensor log_of_sum(const Tensor& x, const Axes& axes, bool keepdims) {
  return ops::log(ops::sum(x, axes, keepdims));
}

template <Tensor (*kPlace)(const Tensor&, std::optional<int64_t>, bool)>
void read_place(NodeReader& n) {
  const Tensor x = n.in();
  const int64_t axis = n.axis(n.integer("axis", 0), x.rank());
  const bool keepdims = n.integer("keepdims", 1) != 0;
  const bool last = n.integer("select_last_index", 0) != 0;
  if (!last) return n.give(ops::cast(kPlace(x, axis, keepdims), DType::Int64));
  if (x.dim(axis) == kUnknown) n.refuse("it looks for the last place on an axis of unknown size");
  const Tensor from_back = ops::cast(kPlace(ops::flip(x, axis), axis, keepdims), DType::Int64);
  n.give(ops::subtract(Tensor::scalar(x.dim(axis) - 1), from_back));
}

void read_cumsum(NodeReader& n) {
  const Tensor x = n.in();
  const int64_t axis = n.axis(n.whole_number(1, 0), x.rank());
  n.give(ops::cumsum(
      x, axis,
      {.exclusive = n.integer("exclusive", 0) != 0, .reverse = n.integer("reverse", 0) != 0}));
}

// Ties are in the original order.
void read_top_k(NodeReader& n) {
  const Tensor x = n.in();
  const int64_t axis = n.axis(n.integer("axis", -1), x.rank());
  const int64_t k = n.opset() < 10 ? n.integer("k", 0) : n.whole_number(1, 0);
  check<InvalidArgument>(k >= 0, "expected a number of elements from 0, got {}.", k);
  const bool last = axis == x.rank() - 1;
  if (n.integer("largest", 1) != 0) {
    const Tensor moved = last ? x : ops::moveaxis(x, axis, -1);
    const Tensors best = n.keras_op("TopK", Json::object({{"k", k}, {"sorted", true}}), {moved});
    const auto back = [&](const Tensor& y) { return last ? y : ops::moveaxis(y, -1, axis); };
    return n.give_all({back(best[0]), ops::cast(back(best[1]), DType::Int64)});
  }
  const Tensor order = ops::slice_axis(ops::argsort(x, axis), axis, 0, k);
  n.give_all({ops::take_along_axis(x, order, axis), ops::cast(order, DType::Int64)});
}

const Rule kRulesOfReductions[] = {
    {"ArgMax", read_place<ops::argmax>},
    {"ArgMin", read_place<ops::argmin>},
    {"CumSum", read_cumsum},
    {"ReduceL1", read_reduction<norm_1>},
    {"ReduceL2", read_reduction<norm_2>},
    {"ReduceLogSum", read_reduction<log_of_sum>},
    {"ReduceLogSumExp", read_reduction<ops::logsumexp>},
    {"ReduceMax", read_reduction<ops::max>},
    {"ReduceMean", read_reduction<mean_of>},
    {"ReduceMin", read_reduction<ops::min>},
    {"ReduceProd", read_reduction<ops::prod>},
    {"ReduceSum", read_reduction<ops::sum>},
    {"ReduceSumSquare", read_reduction<sum_of_squares>},
    {"TopK", read_top_k},
};

}  // namespace

std::span<const Rule> reduction_rules() { return kRulesOfReductions; }

}  // namespace cornu::onnx::reading
