// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/onnx/mappings.h"

namespace cornu::onnx {
namespace {

void write_reduction(NodeWriter& n, const char* op) {
  const bool of_bools = n.dtype() == DType::Bool;
  const std::string x = of_bools ? n.cast(n.in(), DType::Bool, DType::Int32) : n.in();
  const std::string y =
      n.add(op, {x, n.integers_constant(n.fixed("axes"))}, integer("keepdims", n.flag("keepdims")));
  n.give(of_bools ? n.cast(y, DType::Int32, DType::Bool) : y);
}

void write_reduce_max(NodeWriter& n) { write_reduction(n, "ReduceMax"); }
void write_reduce_min(NodeWriter& n) { write_reduction(n, "ReduceMin"); }
void write_reduce_prod(NodeWriter& n) { write_reduction(n, "ReduceProd"); }
void write_reduce_sum(NodeWriter& n) { write_reduction(n, "ReduceSum"); }

void write_arg(NodeWriter& n, const char* op) {
  const std::string index =
      n.add(op, {n.in()}, integer("axis", n.integer("axis")) + integer("keepdims", 0));
  n.give(n.cast(index, DType::Int64, n.out_dtype()));
}

void write_argmax(NodeWriter& n) { write_arg(n, "ArgMax"); }
void write_argmin(NodeWriter& n) { write_arg(n, "ArgMin"); }

void write_cumsum(NodeWriter& n) {
  const std::string axis = n.scalar(static_cast<double>(n.integer("axis")), DType::Int64);
  n.give(n.add("CumSum", {n.in(), axis},
               integer("exclusive", n.flag("exclusive")) + integer("reverse", n.flag("reverse"))));
}

// The largest (or smallest) elements along an axis, all of them or the first ones, in order; ties
// are in the original order, in ONNX, too.
void write_argsort(NodeWriter& n) {
  const int64_t axis = n.integer("axis");
  const Names sorted = n.add_many(
      "TopK", {n.in(), n.sizes({n.out_shape()[static_cast<size_t>(axis)]})},
      integer("axis", axis) + integer("largest", n.flag("descending")) + integer("sorted", 1), 2);
  n.give(n.cast(sorted[1], DType::Int64, n.out_dtype()));
}

const Mapping kOfReductions[] = {
    {"argmax", nullptr, write_argmax},           {"argmin", nullptr, write_argmin},
    {"argsort", nullptr, write_argsort},         {"cumsum", nullptr, write_cumsum},
    {"reduce_max", nullptr, write_reduce_max},   {"reduce_min", nullptr, write_reduce_min},
    {"reduce_prod", nullptr, write_reduce_prod}, {"reduce_sum", nullptr, write_reduce_sum},
};

}  // namespace

std::span<const Mapping> reduction_mappings() { return kOfReductions; }

}  // namespace cornu::onnx
