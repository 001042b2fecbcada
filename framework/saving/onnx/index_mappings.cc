// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/shape.h"
#include "framework/saving/onnx/mappings.h"

namespace cornu::onnx {
namespace {

// ONNX accepts int32 and int64 indices.
std::string indices(NodeWriter& n, size_t i) {
  if (n.dtype(i) == DType::Int32 || n.dtype(i) == DType::Int64) return n.in(i);
  return n.cast(n.in(i), n.dtype(i), DType::Int64);
}

std::string indices_of_int64(NodeWriter& n, size_t i) {
  return n.cast(n.in(i), n.dtype(i), DType::Int64);
}

void write_gather(NodeWriter& n) {
  n.give(n.add("Gather", {n.in(0), indices(n, 1)}, integer("axis", n.integer("axis"))));
}

void write_take_along_axis(NodeWriter& n) {
  n.give(n.add("GatherElements", {n.in(0), indices(n, 1)}, integer("axis", n.integer("axis"))));
}

std::string zeros_of_output(NodeWriter& n) {
  return n.add("Expand", {n.scalar(0, n.out_dtype()), n.sizes(n.out_shape())});
}

void write_scatter_add(NodeWriter& n) {
  if (n.integer("axis") != 0) n.refuse("ONNX adds up rows along the first axis only");
  const std::string rows = n.add("Unsqueeze", {indices_of_int64(n, 0), n.integers_constant({-1})});
  n.give(n.add("ScatterND", {zeros_of_output(n), rows, n.in(1)}, text("reduction", "add")));
}

void write_put_along_axis_add(NodeWriter& n) {
  n.give(n.add("ScatterElements", {zeros_of_output(n), indices(n, 0), n.in(1)},
               integer("axis", n.integer("axis")) + text("reduction", "add")));
}

// Out-of-range indices yield zeros: ONNX's OneHot counts negative ones from the last class.
void write_one_hot(NodeWriter& n) {
  const std::string index = n.add("Unsqueeze", {indices_of_int64(n, 0), n.integers_constant({-1})});
  const std::string classes =
      n.file().constant(ops::arange(n.integer("depth"), DType::Int64), "classes");
  n.give(n.cast(n.add("Equal", {index, classes}), DType::Bool, n.out_dtype()));
}

const Mapping kOfIndices[] = {
    {"gather", nullptr, write_gather},
    {"one_hot", nullptr, write_one_hot},
    {"put_along_axis_add", nullptr, write_put_along_axis_add},
    {"scatter_add", nullptr, write_scatter_add},
    {"take_along_axis", nullptr, write_take_along_axis},
};

}  // namespace

std::span<const Mapping> index_mappings() { return kOfIndices; }

}  // namespace cornu::onnx
