// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <sstream>
#include <utility>

#include "framework/saving/onnx/lowering.h"
#include "framework/saving/onnx/mappings.h"

namespace cornu::onnx {
namespace {

using Ints = std::vector<int64_t>;

// A matrix, or a batch of matrices, as the product reads it.
std::string matrix(NodeWriter& n, size_t i, bool is_transposed) {
  if (!is_transposed) return n.in(i);
  Ints order(static_cast<size_t>(n.rank(i)));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 2], order.back());
  return n.transposed(i, order);
}

void write_matmul(NodeWriter& n) {
  const bool is_int8 = n.dtype(0) == DType::Int8;  // the result is int32
  n.give(n.add(is_int8 ? "MatMulInteger" : "MatMul",
               {matrix(n, 0, n.flag("transpose_a")), matrix(n, 1, n.flag("transpose_b"))}));
}

void write_softmax(NodeWriter& n) {
  n.give(n.add("Softmax", {n.in()}, integer("axis", n.integer("axis"))));
}

void write_log_softmax(NodeWriter& n) {
  n.give(n.add("LogSoftmax", {n.in()}, integer("axis", n.integer("axis"))));
}

// Whether each axis is padded such that a window starts at every stride-th position, whatever its
// size.
bool pads_for_strides(NodeWriter& n, const Ints& window) {
  const Sizes padding = n.integers("padding");
  const Sizes shape = n.shape();
  const Ints strides = n.fixed("strides");
  if (window.empty()) return false;
  for (size_t i = 0; i < window.size(); ++i) {
    for (size_t trace = 0; trace < kTraces; ++trace) {
      const int64_t size = shape[i + 2].by_trace[trace];
      const int64_t last = (size - 1) / strides[i] * strides[i];
      const int64_t missing = std::max(last + window[i] - size, int64_t{0});
      if (padding[2 * i].by_trace[trace] != missing / 2) return false;
      if (padding[2 * i + 1].by_trace[trace] != missing - missing / 2) return false;
    }
  }
  return true;
}

// The padding before, then after all axes; or, if there is a window, that it follows from sizes.
std::string pads(NodeWriter& n, const Ints& window) {
  if (!all_fixed(n.integers("padding")) && pads_for_strides(n, window)) {
    return text("auto_pad", "SAME_UPPER");
  }
  const Ints padding = n.fixed("padding");
  Ints sorted;
  for (size_t i = 0; i < padding.size(); i += 2) sorted.push_back(padding[i]);
  for (size_t i = 1; i < padding.size(); i += 2) sorted.push_back(padding[i]);
  return integers("pads", sorted);
}

// Transposes (spatial…, in, out) to (out, in, spatial…).
std::string kernel(NodeWriter& n) {
  const int64_t rank = n.rank(1);
  Ints order = {rank - 1, rank - 2};
  for (int64_t axis = 0; axis + 2 < rank; ++axis) order.push_back(axis);
  return n.transposed(1, order);
}

// The extent of a kernel; empty for a dilated one, for which no runtime can determine the padding
// itself.
Ints window_of_kernel(NodeWriter& n) {
  const Ints shape = values_of(n.shape(1));
  const Ints dilation = n.fixed("dilation");
  const bool dense = std::ranges::all_of(dilation, [](int64_t step) { return step == 1; });
  return dense ? Ints(shape.begin(), shape.end() - 2) : Ints();
}

std::string conv_attributes(NodeWriter& n, const Ints& window) {
  return integers("strides", n.fixed("strides")) + integers("dilations", n.fixed("dilation")) +
         pads(n, window) + integer("group", n.integer("groups"));
}

void write_conv(NodeWriter& n) {
  n.give(n.add("Conv", {n.in(0), kernel(n)}, conv_attributes(n, window_of_kernel(n))));
}

void write_conv_transpose(NodeWriter& n) {
  n.give(n.add("ConvTranspose", {n.in(0), kernel(n)},
               conv_attributes(n, {}) + integers("output_padding", n.fixed("output_padding"))));
}

void write_pool(NodeWriter& n, const char* op) {
  const Ints window = n.fixed("window");
  n.give(n.add(op, {n.in()},
               integers("kernel_shape", window) + integers("strides", n.fixed("strides")) +
                   pads(n, window)));
}

void write_max_pool(NodeWriter& n) { write_pool(n, "MaxPool"); }
void write_avg_pool(NodeWriter& n) { write_pool(n, "AveragePool"); }

// Missing inputs have no name: biases, sequence lengths.
void write_recurrence(NodeWriter& n) {
  const Attributes& given = n.node().attributes;
  const Names operands = n.all_in();
  const bool biased = n.flag("biased");
  Names inputs(operands.begin(), operands.begin() + (biased ? 4 : 3));
  if (n.flag("begins")) {
    inputs.resize(5);
    inputs.insert(inputs.end(), operands.begin() + (biased ? 4 : 3), operands.end());
  }
  const std::string& op = given.get_string("operator");
  std::istringstream words(given.get_string("activations"));
  const Names activations(std::istream_iterator<std::string>(words), {});
  std::string attributes = texts("activations", activations) +
                           text("direction", n.flag("reverse") ? "reverse" : "forward") +
                           integer("hidden_size", n.integer("units"));
  if (op == "GRU") attributes += integer("linear_before_reset", n.flag("reset_after"));
  n.give_all(n.add_many(op, inputs, attributes, n.node().outputs.size()));
}

const Mapping kOfNetworks[] = {
    {"avg_pool_channels_second", nullptr, write_avg_pool},
    {"conv_channels_second", nullptr, write_conv},
    {"conv_transpose_channels_second", nullptr, write_conv_transpose},
    {"log_softmax", nullptr, write_log_softmax},
    {"matmul", nullptr, write_matmul},
    {"max_pool_channels_second", nullptr, write_max_pool},
    {"recurrence", nullptr, write_recurrence},
    {"softmax", nullptr, write_softmax},
};

}  // namespace

std::span<const Mapping> network_mappings() { return kOfNetworks; }

}  // namespace cornu::onnx
