// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numeric>

#include "framework/ops/ops.h"
#include "framework/saving/onnx/reading/rules.h"

namespace cornu::onnx::reading {
namespace {

bool is_close(double a, double b) { return std::abs(a - b) < 1e-6; }

// keras.layers.Activation.
void read_named(NodeReader& n, const char* activation) {
  n.give(n.layer("Activation", Json::object({{"activation", activation}}), n.in()).single());
}

void read_relu(NodeReader& n) {
  if (is_floating(n.in().dtype())) return read_named(n, "relu");
  n.give(ops::relu(n.in()));
}
void read_sigmoid(NodeReader& n) { read_named(n, "sigmoid"); }
void read_tanh(NodeReader& n) { read_named(n, "tanh"); }
void read_softplus(NodeReader& n) { read_named(n, "softplus"); }
void read_softsign(NodeReader& n) { read_named(n, "softsign"); }
void read_mish(NodeReader& n) { read_named(n, "mish"); }

void read_elu(NodeReader& n) {
  n.give(n.layer("ELU", Json::object({{"alpha", n.number("alpha", 1)}}), n.in()).single());
}

void read_leaky_relu(NodeReader& n) {
  const double slope = n.number("alpha", 0.01f);
  const Tensor x = n.in();
  if (slope >= 0) {
    return n.give(n.layer("LeakyReLU", Json::object({{"negative_slope", slope}}), x).single());
  }
  n.give(ops::leaky_relu(x, slope));
}

void read_selu(NodeReader& n) {
  constexpr float kAlpha = 1.67326319217681884765625f, kGamma = 1.05070102214813232421875f;
  const double alpha = n.number("alpha", kAlpha), gamma = n.number("gamma", kGamma);
  if (is_close(alpha, kAlpha) && is_close(gamma, kGamma)) return read_named(n, "selu");
  n.give(ops::multiply(ops::elu(n.in(), alpha), gamma));
}

void read_celu(NodeReader& n) { n.give(ops::celu(n.in(), n.number("alpha", 1))); }

void read_gelu(NodeReader& n) {
  n.give(ops::gelu(n.in(), n.choice("approximate", {"none", "tanh"}) == "tanh"));
}

void read_hard_sigmoid(NodeReader& n) {
  const double alpha = n.number("alpha", 0.2f), beta = n.number("beta", 0.5);
  if (is_close(alpha, 1.0 / 6) && beta == 0.5) return read_named(n, "hard_sigmoid");
  const Tensor line = ops::add(ops::multiply(n.in(), alpha), beta);
  n.give(ops::maximum(ops::minimum(line, 1.0), 0.0));
}

void read_hard_swish(NodeReader& n) { read_named(n, "hard_silu"); }

void read_swish(NodeReader& n) {
  const double alpha = n.number("alpha", 1);
  if (alpha == 1) return read_named(n, "silu");
  const Tensor x = n.in();
  n.give(ops::multiply(x, ops::sigmoid(ops::multiply(x, alpha))));
}

void read_thresholded_relu(NodeReader& n) {
  const Tensor x = n.in();
  const double alpha = n.number("alpha", 1);
  if (alpha >= 0) {
    return n.give(n.layer("ReLU", Json::object({{"threshold", alpha}}), x).single());
  }
  n.give(ops::where(ops::greater(x, alpha), x, ops::cast(0, x.dtype())));
}

void read_shrink(NodeReader& n) {
  const double bias = n.number("bias", 0), lambda = n.number("lambd", 0.5);
  const Tensor x = n.in();
  const Tensor high =
      ops::where(ops::greater(x, lambda), ops::subtract(x, bias), ops::cast(0, x.dtype()));
  const Tensor both = ops::where(ops::less(x, -lambda), ops::add(x, bias), high);
  n.give(ops::cast(both, x.dtype()));
}

// Before operator set 13, all axes from the given one on.
Ints softmax_axes(NodeReader& n, int64_t rank) {
  const bool one = n.opset() >= 13;
  const int64_t first = n.axis(n.integer("axis", one ? -1 : 1), rank);
  Ints axes(static_cast<size_t>(one ? 1 : rank - first));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

void read_softmax(NodeReader& n) {
  const Tensor x = n.in();
  const Ints axes = softmax_axes(n, x.rank());
  if (axes == Ints{x.rank() - 1}) return read_named(n, "softmax");
  const Json axis = axes.size() == 1 ? Json(axes[0]) : Json(axes);
  n.give(n.layer("Softmax", Json::object({{"axis", axis}}), x).single());
}

void read_log_softmax(NodeReader& n) {
  const Tensor x = n.in();
  const Ints axes = softmax_axes(n, x.rank());
  if (axes.size() == 1) return n.give(ops::log_softmax(x, axes[0]));
  n.give(ops::subtract(x, ops::logsumexp(x, axes, true)));
}

// 1 at the first maximum, else 0.
void read_hardmax(NodeReader& n) {
  const Tensor x = n.in();
  const Ints axes = softmax_axes(n, x.rank());
  if (axes.size() != 1) n.refuse("its largest element is one of several axes");
  const Tensor first = ops::argmax(x, axes[0]);
  n.give(ops::one_hot(first, x.dim(axes[0]), axes[0], x.dtype()));
}

// The slopes have the sizes of the input's last axes, or 1 where they are shared; before operator
// set 7, they were per channel.
void read_prelu(NodeReader& n) {
  const Tensor x = n.in();
  Tensor slope = n.constant(1);
  if (n.opset() < 7 && slope.rank() == 1 && x.rank() > 2 && slope.dim(0) > 1) {
    slope = ops::reshape(
        slope, Shape({kUnknown}).concat(Shape(Ints(static_cast<size_t>(x.rank()) - 2, 1))));
  }
  check<InvalidArgument>(slope.rank() <= x.rank(),
                         "expected slopes for an input of {} axes, got {}.", x.rank(),
                         slope.shape());
  Ints sizes(static_cast<size_t>(x.rank() - slope.rank()), 1);
  sizes.insert(sizes.end(), slope.shape().begin(), slope.shape().end());
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    if (x.dim(axis) == kUnknown && sizes[static_cast<size_t>(axis)] != 1) {
      n.refuse("its slopes vary along an axis of unknown size");
    }
  }
  if (x.rank() < 2 || sizes[0] != 1) {
    return n.give(ops::subtract(ops::relu(x), ops::multiply(slope, ops::relu(ops::negative(x)))));
  }
  Ints shared;
  for (int64_t axis = 1; axis < x.rank(); ++axis) {
    if (sizes[static_cast<size_t>(axis)] == 1) shared.push_back(axis);
  }
  slope = ops::reshape(slope, Shape(Ints(sizes.begin() + 1, sizes.end())));
  n.give(n.layer("PReLU", Json::object({{"shared_axes", shared}}), x, {{"alpha", slope}}).single());
}

void read_dropout(NodeReader& n) {
  double rate = n.number("ratio", 0.5);
  if (n.opset() < 7 && n.integer("is_test", 0) == 0) {
    n.refuse("it drops values in predictions, too (is_test is 0)");
  }
  if (n.opset() >= 12) {
    rate = n.number(1, 0.5);
    if (n.has(2) && n.constant(2).item<bool>()) n.refuse("it drops values in predictions, too");
  }
  const Tensor x = n.in();
  const bool drops = !n.folds() && rate >= 0 && rate < 1;
  const Tensor y = drops ? n.layer("Dropout", Json::object({{"rate", rate}}), x).single() : x;
  if (!n.wants(1)) return n.give(y);
  const DType kept = n.opset() >= 10 ? DType::Bool : x.dtype();
  n.give_all({y, ops::cast(ops::ones_like(x, DType::Int32), kept)});
}

const Rule kRulesOfActivations[] = {
    {"Celu", read_celu},
    {"Dropout", read_dropout},
    {"Elu", read_elu},
    {"Gelu", read_gelu},
    {"HardSigmoid", read_hard_sigmoid},
    {"HardSwish", read_hard_swish},
    {"Hardmax", read_hardmax},
    {"LeakyRelu", read_leaky_relu},
    {"LogSoftmax", read_log_softmax},
    {"Mish", read_mish},
    {"PRelu", read_prelu},
    {"Relu", read_relu},
    {"Selu", read_selu},
    {"Shrink", read_shrink},
    {"Sigmoid", read_sigmoid},
    {"Softmax", read_softmax},
    {"Softplus", read_softplus},
    {"Softsign", read_softsign},
    {"Swish", read_swish},
    {"Tanh", read_tanh},
    {"ThresholdedRelu", read_thresholded_relu},
};

}  // namespace

std::span<const Rule> activation_rules() { return kRulesOfActivations; }

}  // namespace cornu::onnx::reading
