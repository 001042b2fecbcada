// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/onnx/lowering_rules.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <utility>

#include "framework/core/checked.h"
#include "framework/graph/dispatch.h"
#include "framework/ops/arrange.h"
#include "framework/ops/control.h"
#include "framework/ops/creation.h"
#include "framework/ops/loops.h"
#include "framework/ops/math.h"
#include "framework/ops/matmul.h"
#include "framework/ops/nn.h"
#include "framework/ops/shape.h"
#include "framework/saving/onnx/lowering.h"

namespace cornu::onnx {
namespace {

using TensorList = std::vector<Tensor>;
using Ints = std::vector<int64_t>;

// ---- channels second ----

// Converts (batch, spatial…, channels) to (batch, channels, spatial…), and back.
Ints to_second(int64_t rank) {
  Ints order = {0, rank - 1};
  for (int64_t axis = 1; axis + 1 < rank; ++axis) order.push_back(axis);
  return order;
}

Ints to_last(int64_t rank) {
  Ints order = {0};
  for (int64_t axis = 2; axis < rank; ++axis) order.push_back(axis);
  order.push_back(1);
  return order;
}

Shape moved(const Shape& shape, const Ints& order) {
  Shape result;
  for (const int64_t axis : order) result.push_back(shape[axis]);
  return result;
}

// Infers types for channels-second tensors from the channels-last op.
InferFunction infer_as(const char* op) {
  return [op](std::span<const TensorType> inputs, const Attributes& attributes) {
    std::vector<TensorType> types(inputs.begin(), inputs.end());
    const int64_t rank = types.at(0).shape.rank();
    check<InvalidArgument>(rank >= 3, "{}: expected spatial axes, got {}.", op, types[0].shape);
    types[0].shape = moved(types[0].shape, to_last(rank));
    std::vector<TensorType> result = OpRegistry::global().at(op).infer(types, attributes);
    result[0].shape = moved(result[0].shape, to_second(rank));
    return result;
  };
}

OpDef channels_second(const char* op) {
  return {
      .name = op + std::string("_channels_second"), .infer = infer_as(op), .vjp = {}, .traits = {}};
}

std::vector<TensorType> infer_transposed(std::span<const TensorType> inputs,
                                         const Attributes& attributes) {
  return {{inputs[0].dtype, attributes.get_shape("input_shape")}};
}

TensorList between_transposes(const OpDef& op, TensorList inputs, const Attributes& attributes) {
  const int64_t rank = inputs[0].rank();
  inputs[0] = ops::transpose(inputs[0], to_second(rank));
  return {ops::transpose(apply(op, inputs, attributes)[0], to_last(rank))};
}

TensorList lower_conv(const TensorList& in, const Attributes& attributes) {
  return between_transposes(channels_second_conv(), in, attributes);
}

TensorList lower_max_pool(const TensorList& in, const Attributes& attributes) {
  return between_transposes(channels_second_max_pool(), in, attributes);
}

TensorList lower_avg_pool(const TensorList& in, const Attributes& attributes) {
  return between_transposes(channels_second_avg_pool(), in, attributes);
}

// ConvTranspose computes a size from the input's size and padding; anything missing is added after
// the last position.
TensorList lower_conv_input_grad(const TensorList& in, const Attributes& attributes) {
  const Shape of_output = attributes.get_shape("input_shape");
  const Ints& strides = attributes.get_ints("strides");
  const Ints& dilation = attributes.get_ints("dilation");
  const Ints& padding = attributes.get_ints("padding");
  Ints missing;
  for (size_t i = 0; i < strides.size(); ++i) {
    const auto axis = static_cast<int64_t>(i);
    const int64_t window = (in[1].dim(axis) - 1) * dilation[i] + 1;
    const int64_t full = (in[0].dim(axis + 1) - 1) * strides[i] + window;
    missing.push_back(of_output[axis + 1] - (full - padding[2 * i] - padding[2 * i + 1]));
  }
  return between_transposes(
      channels_second_conv_transpose(), in,
      {{"strides", strides},
       {"dilation", dilation},
       {"padding", padding},
       {"groups", attributes.get_int("groups")},
       {"output_padding", missing},
       {"input_shape", moved(of_output, to_second(of_output.rank())).dims()}});
}

// ---- attention ----

// The score of a masked pair.
double hidden_score(DType dtype) { return -0.7 * (dtype == DType::Float16 ? 65504 : 3.38e38); }

// (batch, heads of the key, heads that share one, length, size)
Tensor heads_apart(const Tensor& x, int64_t keys) {
  const Tensor apart = ops::reshape(x, {x.dim(0), x.dim(1), keys, x.dim(2) / keys, x.dim(3)});
  return ops::transpose(apart, {0, 2, 3, 1, 4});
}

TensorList lower_attention(const TensorList& in, const Attributes& attributes) {
  const int64_t keys = in[1].dim(2);
  const int64_t group = keys == 0 ? 1 : in[0].dim(2) / keys;
  const bool shared = group != 1;
  const auto apart = [&](const Tensor& x) {
    return shared ? heads_apart(x, keys) : ops::transpose(x, {0, 2, 1, 3});
  };
  const auto scores_apart = [&](const Tensor& x) {
    if (!shared) return x;
    const bool all = x.dim(1) == 1;
    return ops::reshape(x, {x.dim(0), all ? 1 : keys, all ? 1 : group, x.dim(2), x.dim(3)});
  };
  const Tensor q = apart(in[0]), k = apart(in[1]), v = apart(in[2]);
  Tensor scores = ops::matmul(q, k, {.transpose_x2 = true}) * attributes.get_double("scale");
  if (attributes.get_bool("bias")) scores = scores + scores_apart(in[3]);
  Tensor kept;
  if (attributes.get_bool("mask")) kept = scores_apart(in.back());
  if (attributes.get_bool("causal")) {
    const int64_t rows = in[0].dim(1), columns = in[1].dim(1);
    const Tensor before =
        ops::greater_equal(ops::reshape(ops::arange(rows), {rows, 1}), ops::arange(columns));
    kept = kept.defined() ? ops::logical_and(kept, before) : before;
  }
  if (kept.defined()) scores = ops::where(kept, scores, hidden_score(scores.dtype()));
  const Tensor y = ops::matmul(ops::softmax(scores), v);
  if (!shared) return {ops::transpose(y, {0, 2, 1, 3})};
  const Tensor joined = ops::transpose(y, {0, 3, 1, 2, 4});
  return {ops::reshape(joined, {in[0].dim(0), in[0].dim(1), in[0].dim(2), in[2].dim(3)})};
}

// ---- others ----

// Its inputs start with its results.
TensorList lower_custom_gradient(const TensorList& in, const Attributes& attributes) {
  return {in.begin(), in.begin() + attributes.get_int("outputs")};
}

// The states after each step of a recurrence over in[0], given the operand that is its mask, if
// there is one. One iteration per step: ONNX's own operators would multiply by the kernel
// themselves, which has already been done here for all steps at once.
template <class Step>
TensorList all_states(const TensorList& in, const TensorList& initial, const Attributes& attributes,
                      Step step) {
  constexpr size_t kMask = 4;
  TensorList xs = {in[0]};
  if (in.size() > kMask) xs.push_back(in[kMask]);
  const auto masked = [&](const TensorList& states, const TensorList& x) {
    TensorList next = step(states, x[0]);
    for (size_t i = 0; i < next.size() && x.size() > 1; ++i) {
      next[i] = ops::where(ops::expand_dims(x[1], -1), next[i], states[i]);
    }
    return std::pair(next, next);
  };
  return ops::scan(masked, initial, xs, {.reverse = attributes.get_bool("reverse")}).second;
}

TensorList lower_lstm(const TensorList& in, const Attributes& attributes) {
  return all_states(in, {in[1], in[2]}, attributes, [&](const TensorList& states, const Tensor& x) {
    const TensorList parts = ops::split(x + ops::matmul(states[0], in[3]), 4, -1);
    const Tensor c =
        ops::sigmoid(parts[1]) * states[1] + ops::sigmoid(parts[0]) * ops::tanh(parts[2]);
    return TensorList{ops::sigmoid(parts[3]) * ops::tanh(c), c};
  });
}

TensorList lower_gru(const TensorList& in, const Attributes& attributes) {
  return all_states(in, {in[1]}, attributes, [&](const TensorList& states, const Tensor& x) {
    const TensorList inputs = ops::split(x, 3, -1);
    const TensorList products = ops::split(ops::matmul(states[0], in[2]) + in[3], 3, -1);
    const Tensor update = ops::sigmoid(inputs[0] + products[0]);
    const Tensor reset = ops::sigmoid(inputs[1] + products[1]);
    const Tensor candidate = ops::tanh(inputs[2] + reset * products[2]);
    return TensorList{update * states[0] + (1 - update) * candidate};
  });
}

// The cosines and sines by which `points` values are multiplied to obtain the first `bins`
// frequencies.
std::pair<Tensor, Tensor> waves(int64_t points, int64_t bins, DType dtype) {
  checked_multiply(points, bins, "fft");
  std::vector<double> real, imaginary;
  for (int64_t point = 0; point < points; ++point) {
    for (int64_t bin = 0; bin < bins; ++bin) {
      const double turns = static_cast<double>(point * bin % points) / static_cast<double>(points);
      real.push_back(std::cos(2 * std::numbers::pi * turns));
      imaginary.push_back(-std::sin(2 * std::numbers::pi * turns));
    }
  }
  const Shape shape = {points, bins};
  return {ops::cast(Tensor::from(real, shape), dtype),
          ops::cast(Tensor::from(imaginary, shape), dtype)};
}

TensorList lower_rfft(const TensorList& in, const Attributes&) {
  const int64_t points = in[0].dim(-1);
  const auto [real, imaginary] = waves(points, points / 2 + 1, in[0].dtype());
  return {ops::matmul(in[0], real), ops::matmul(in[0], imaginary)};
}

TensorList lower_fft(const TensorList& in, const Attributes& attributes) {
  const int64_t points = in[0].dim(-1);
  const auto [real, turned] = waves(points, points, in[0].dtype());
  const Tensor imaginary = attributes.get_bool("inverse") ? -turned : turned;
  return {ops::matmul(in[0], real) - ops::matmul(in[1], imaginary),
          ops::matmul(in[0], imaginary) + ops::matmul(in[1], real)};
}

struct Rule {
  std::string_view op;
  Lowering lowering;
};

const Rule kRules[] = {
    {"attention", lower_attention},
    {"avg_pool", lower_avg_pool},
    {"conv", lower_conv},
    {"conv_input_grad", lower_conv_input_grad},
    {"custom_gradient", lower_custom_gradient},
    {"fft", lower_fft},
    {"gru", lower_gru},
    {"lstm", lower_lstm},
    {"max_pool", lower_max_pool},
    {"rfft", lower_rfft},
};

}  // namespace

Lowering lowering_of(std::string_view op) {
  const auto rule = std::ranges::find(kRules, op, &Rule::op);
  return rule == std::end(kRules) ? nullptr : rule->lowering;
}

const OpDef& channels_second_conv() {
  static const OpDef op = channels_second("conv");
  return op;
}

const OpDef& channels_second_max_pool() {
  static const OpDef op = channels_second("max_pool");
  return op;
}

const OpDef& channels_second_avg_pool() {
  static const OpDef op = channels_second("avg_pool");
  return op;
}

const OpDef& channels_second_conv_transpose() {
  static const OpDef op = {
      .name = "conv_transpose_channels_second", .infer = infer_transposed, .vjp = {}, .traits = {}};
  return op;
}

}  // namespace cornu::onnx
