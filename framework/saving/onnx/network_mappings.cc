// SPDX-License-Identifier: Apache-2.0
#include <numeric>
#include <utility>

#include "framework/saving/onnx/lowering.h"
#include "framework/saving/onnx/mappings.h"

namespace cornu::onnx {
namespace {

using Ints = std::vector<int64_t>;

// A matrix, or each of many, as the product reads it.
std::string matrix(NodeWriter& n, size_t i, bool is_transposed) {
  if (!is_transposed) return n.in(i);
  Ints order(static_cast<size_t>(n.rank(i)));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 2], order.back());
  return n.transposed(i, order);
}

void write_matmul(NodeWriter& n) {
  n.give(
      n.add("MatMul", {matrix(n, 0, n.flag("transpose_a")), matrix(n, 1, n.flag("transpose_b"))}));
}

void write_softmax(NodeWriter& n) {
  n.give(n.add("Softmax", {n.in()}, integer("axis", n.integer("axis"))));
}

void write_log_softmax(NodeWriter& n) {
  n.give(n.add("LogSoftmax", {n.in()}, integer("axis", n.integer("axis"))));
}

// Low ones of all axes, then high ones.
std::string pads(NodeWriter& n) {
  const Ints padding = n.fixed("padding");
  Ints sorted;
  for (size_t i = 0; i < padding.size(); i += 2) sorted.push_back(padding[i]);
  for (size_t i = 1; i < padding.size(); i += 2) sorted.push_back(padding[i]);
  return integers("pads", sorted);
}

// (spatial…, in, out) as (out, in, spatial…)
std::string kernel(NodeWriter& n) {
  const int64_t rank = n.rank(1);
  Ints order = {rank - 1, rank - 2};
  for (int64_t axis = 0; axis + 2 < rank; ++axis) order.push_back(axis);
  return n.transposed(1, order);
}

std::string conv_attributes(NodeWriter& n) {
  return integers("strides", n.fixed("strides")) + integers("dilations", n.fixed("dilation")) +
         pads(n) + integer("group", n.integer("groups"));
}

void write_conv(NodeWriter& n) { n.give(n.add("Conv", {n.in(0), kernel(n)}, conv_attributes(n))); }

void write_conv_transpose(NodeWriter& n) {
  n.give(n.add("ConvTranspose", {n.in(0), kernel(n)},
               conv_attributes(n) + integers("output_padding", n.fixed("output_padding"))));
}

void write_pool(NodeWriter& n, const char* op) {
  n.give(n.add(op, {n.in()},
               integers("kernel_shape", n.fixed("window")) +
                   integers("strides", n.fixed("strides")) + pads(n)));
}

void write_max_pool(NodeWriter& n) { write_pool(n, "MaxPool"); }
void write_avg_pool(NodeWriter& n) { write_pool(n, "AveragePool"); }

const Mapping kOfNetworks[] = {
    {"avg_pool_channels_second", nullptr, write_avg_pool},
    {"conv_channels_second", nullptr, write_conv},
    {"conv_transpose_channels_second", nullptr, write_conv_transpose},
    {"log_softmax", nullptr, write_log_softmax},
    {"matmul", nullptr, write_matmul},
    {"max_pool_channels_second", nullptr, write_max_pool},
    {"softmax", nullptr, write_softmax},
};

}  // namespace

std::span<const Mapping> network_mappings() { return kOfNetworks; }

}  // namespace cornu::onnx
