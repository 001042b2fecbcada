// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/nn.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "framework/core/error_place.h"
#include "framework/core/logging.h"
#include "framework/ops/definition.h"
#include "framework/ops/index.h"
#include "framework/ops/math.h"
#include "framework/ops/reduce.h"
#include "framework/ops/shape.h"
#include "framework/ops/whole_op.h"

namespace cornu::ops {

using namespace internal;

namespace {

constexpr double kEpsilon = 1e-7;  // keras.config.epsilon()
constexpr int64_t kNoIgnoredClass = std::numeric_limits<int64_t>::min();

Types infer_softmax(TypeSpan inputs, const Attributes& attributes, std::string_view who) {
  require_inputs(inputs, 1, who);
  const int64_t axis = attributes.get_int("axis");
  check<InvalidArgument>(axis >= 0 && axis < inputs[0].shape.rank() && is_floating(inputs[0].dtype),
                         "{}: expected floats with an axis {}, got {} {}.", who, axis,
                         inputs[0].dtype, inputs[0].shape);
  return {inputs[0]};
}

Gradients softmax_vjp(const VjpContext& c) {
  const Tensor scaled = c.gradient() * c.out();
  const Tensor total = sum(scaled, c.attributes.get_int("axis"), true);
  return {scaled - c.out() * total};
}

Gradients log_softmax_vjp(const VjpContext& c) {
  const Tensor total = sum(c.gradient(), c.attributes.get_int("axis"), true);
  return {c.gradient() - exp(c.out()) * total};
}

Types infer_cross_entropy(TypeSpan inputs, const Attributes&) {
  require_inputs(inputs, 2, "softmax_cross_entropy");
  require_floating(inputs[0], "softmax_cross_entropy");
  check<InvalidArgument>(inputs[0] == inputs[1] && inputs[0].shape.rank() >= 1,
                         "softmax_cross_entropy: expected targets like the logits ({} {}), got {} "
                         "{}.",
                         inputs[0].dtype, inputs[0].shape, inputs[1].dtype, inputs[1].shape);
  const Shape rows = inputs[0].shape.slice(0, inputs[0].shape.rank() - 1);
  return {{inputs[0].dtype, rows}, inputs[0]};
}

Types infer_sparse_cross_entropy(TypeSpan inputs, const Attributes&) {
  require_inputs(inputs, 2, "sparse_softmax_cross_entropy");
  require_floating(inputs[0], "sparse_softmax_cross_entropy");
  const Shape& logits = inputs[0].shape;
  check<InvalidArgument>(
      logits.rank() >= 1 && inputs[1].shape == logits.slice(0, logits.rank() - 1),
      "sparse_softmax_cross_entropy: expected one label for each row of logits "
      "{}, got shape {}.",
      logits, inputs[1].shape);
  check<InvalidArgument>(is_integer(inputs[1].dtype),
                         "sparse_softmax_cross_entropy: expected integer labels, got {}. Use "
                         "categorical_crossentropy for one-hot targets.",
                         inputs[1].dtype);
  return {{inputs[0].dtype, inputs[1].shape}, inputs[0]};
}

// Adds the contribution of the gradient of the second output, the probabilities.
Tensor add_probability_gradient(const VjpContext& c, const Tensor& from_loss) {
  const Tensor& dp = c.gradient(1);
  if (!dp.defined()) return from_loss;
  const Tensor& p = c.out(1);
  const Tensor scaled = dp * p;
  const Tensor from_probabilities = scaled - p * sum(scaled, -1, true);
  return from_loss.defined() ? from_loss + from_probabilities : from_probabilities;
}

Gradients cross_entropy_vjp(const VjpContext& c) {
  Gradients result(2);
  const Tensor& dloss = c.gradient(0);
  const Tensor& targets = c.in(1);
  Tensor logits;
  if (dloss.defined()) {
    const Tensor total = sum(targets, -1, true);
    logits = (c.out(1) * total - targets) * expand_dims(dloss, -1);
    if (c.needed[1]) result[1] = -log_softmax(c.in(0)) * expand_dims(dloss, -1);
  }
  if (c.needed[0]) result[0] = add_probability_gradient(c, logits);
  return result;
}

Gradients sparse_cross_entropy_vjp(const VjpContext& c) {
  const Tensor& dloss = c.gradient(0);
  const Tensor& labels = c.in(1);
  Tensor logits;
  if (dloss.defined()) {
    const int64_t ignored = c.attributes.get_int("ignore_class");
    Tensor scale = dloss;
    if (ignored != kNoIgnoredClass) {
      scale = where(equal(cast(labels, DType::Int64), Tensor::scalar(ignored)),
                    constant_like(dloss, 0), dloss);
    }
    const Tensor target = one_hot(labels, c.out(1).shape().back(), -1, c.out(1).dtype());
    logits = (c.out(1) - target) * expand_dims(scale, -1);
  }
  return {add_probability_gradient(c, logits), Tensor()};
}

// log(1 + exp(-|x|)), written such that it is smooth on each side of 0: the gradient is exact even
// at 0, to any order, where that of an abs would be wrong.
Tensor log1p_exp_minus_abs(const Tensor& x) { return log1p(exp(where(x > 0, -x, x))); }

// Throws unless the shapes are equal (as far as they are known).
void require_same_shape(const Tensor& target, const Tensor& output, std::string_view who,
                        std::string_view advice) {
  bool same = target.rank() == output.rank();
  for (int64_t axis = 0; same && axis < target.rank(); ++axis) {
    const int64_t a = target.shape()[axis];
    const int64_t b = output.shape()[axis];
    same = a == b || a == kUnknown || b == kUnknown;
  }
  check<InvalidArgument>(same, "{}: expected a target of the output's shape {}, got {}. {}", who,
                         output.shape(), target.shape(), advice);
}

Tensor clip_probability(const Tensor& p) { return clip(p, kEpsilon, 1 - kEpsilon); }

// The predictions, or the logits that they are the softmax or sigmoid of. As in Keras on
// TensorFlow, the latter are used even if the predictions are declared to be logits themselves.
std::pair<Tensor, bool> logits_or(const Tensor& output, bool from_logits, const char* activation) {
  const Tensor logits = output.logits(activation);
  if (!logits.defined()) return {to_floating(output), from_logits};
  if (from_logits) {
    logging::warn(
        fmt::format("A loss with from_logits=true is given the output of a {0}. It takes the {0}'s "
                    "input; omit one of the two.",
                    activation));
  }
  return {logits, true};
}

// Overload for a softmax, which is along the last axis.
std::pair<Tensor, bool> logits_along(int64_t axis, const Tensor& output, bool from_logits) {
  if (axis != output.rank() - 1) return {to_floating(output), from_logits};
  return logits_or(output, from_logits, "softmax");
}

}  // namespace

void register_nn(OpRegistry& registry) {
  registry.add(
      {.name = "softmax",
       .infer = [](TypeSpan in, const Attributes& a) { return infer_softmax(in, a, "softmax"); },
       .vjp = softmax_vjp,
       .traits = {}});
  registry.add({.name = "log_softmax",
                .infer = [](TypeSpan in,
                            const Attributes& a) { return infer_softmax(in, a, "log_softmax"); },
                .vjp = log_softmax_vjp,
                .traits = {}});
  registry.add({.name = "softmax_cross_entropy",
                .infer = infer_cross_entropy,
                .vjp = cross_entropy_vjp,
                .traits = {}});
  registry.add({.name = "sparse_softmax_cross_entropy",
                .infer = infer_sparse_cross_entropy,
                .vjp = sparse_cross_entropy_vjp,
                .traits = {.checks_values = true}});
}

Tensor softmax(const Tensor& x, const Axes& axis) {
  const ErrorPlace scope("softmax");
  const Tensor value = to_floating(x);
  if (axis.count() != 1) {  // a 16-bit logarithm would be too inexact
    const Tensor wide = cast(value, promote(value.dtype(), DType::Float32));
    return cast(exp(log_softmax(wide, axis)), value.dtype());
  }
  const int64_t along = axis.normalized(value.shape(), "softmax").front();
  const Tensor y = call<"softmax">({value}, {{"axis", along}});
  return along == value.rank() - 1 ? y.with_logits("softmax", value) : y;
}

Tensor log_softmax(const Tensor& x, const Axes& axis) {
  const ErrorPlace scope("log_softmax");
  const Tensor value = to_floating(x);
  const std::vector<int64_t> axes = axis.normalized(value.shape(), "log_softmax");
  if (axes.size() != 1) return value - logsumexp(value, axes, true);
  return call<"log_softmax">({value}, {{"axis", axes.front()}});
}

Tensor relu(const Tensor& x) { return call<"relu">({x}); }
Tensor sigmoid(const Tensor& x) {
  const ErrorPlace scope("sigmoid");
  const Tensor value = to_floating(x);
  return call<"sigmoid">({value}).with_logits("sigmoid", value);
}
Tensor exponential(const Tensor& x) { return exp(x); }

namespace {

// An activation that Keras has as a single op, which functional models keep.
template <OpName kName, class Body>
Tensor activation(const char* class_name, const Tensor& x, const Body& body) {
  const auto f = [body](const Tensor& v) { return at_once<kName>(v, body); };
  return is_model_placeholder(x) ? whole_of(kName.text, x, {"nn", class_name, Json::object()}, f)
                                 : f(x);
}
// An activation with a parameter, given by Keras's name.
template <OpName kName, class Body>
Tensor activation(const char* class_name, const Tensor& x, const char* key, double number,
                  const Body& body) {
  const auto f = [=](const Tensor& v) {
    return at_once<kName>({v}, {{key, number}},
                          [&](const std::vector<Tensor>& in) { return body(in[0]); });
  };
  return is_model_placeholder(x)
             ? whole_of(kName.text, x, {"nn", class_name, Json::object({{key, number}})}, f)
             : f(x);
}

}  // namespace

// At and beyond both bounds, the gradient is 0.
Tensor relu6(const Tensor& x) {
  return activation<"relu6">(
      "Relu6", x, [](const Tensor& v) { return where(v >= 6, constant_like(v, 6), relu(v)); });
}
Tensor leaky_relu(const Tensor& x, double negative_slope) {
  const ErrorPlace scope("leaky_relu");
  return activation<"leaky_relu">(
      "LeakyRelu", x, "negative_slope", negative_slope,
      [=](const Tensor& v) { return where(v > 0, v, v * negative_slope); });
}
Tensor elu(const Tensor& x, double alpha) {
  const ErrorPlace scope("elu");
  return activation<"elu">("Elu", x, "alpha", alpha, [=](const Tensor& v) {
    return where(v > 0, v, expm1(minimum(v, 0)) * alpha);
  });
}
Tensor selu(const Tensor& x) {
  const ErrorPlace scope("selu");
  constexpr double kAlpha = 1.6732632423543772848170429916717;
  constexpr double kScale = 1.0507009873554804934193349852946;
  return activation<"selu">("Selu", x, [](const Tensor& v) {
    return where(v >= 0, v, expm1(minimum(v, 0)) * kAlpha) * kScale;
  });
}
Tensor celu(const Tensor& x, double alpha) {
  const ErrorPlace scope("celu");
  return activation<"celu">("Celu", x, "alpha", alpha, [=](const Tensor& v) {
    return maximum(v, 0) + expm1(minimum(v, 0) / alpha) * alpha;
  });
}
Tensor gelu(const Tensor& x, bool approximate) {
  const ErrorPlace scope("gelu");
  if (is_model_placeholder(x)) {
    return whole_of("gelu", x, {"nn", "Gelu", Json::object({{"approximate", approximate}})},
                    [=](const Tensor& v) { return gelu(v, approximate); });
  }
  if (approximate) {
    return at_once<"gelu_by_tanh">(x, [](const Tensor& v) {
      const double factor = std::sqrt(2 / std::numbers::pi);
      return v * 0.5 * (1 + tanh((v + v * v * v * 0.044715) * factor));
    });
  }
  return at_once<"gelu">(
      x, [](const Tensor& v) { return v * 0.5 * (1 + erf(v * (1 / std::numbers::sqrt2))); });
}
Tensor swish(const Tensor& x) { return silu(x); }
Tensor hard_swish(const Tensor& x) { return hard_silu(x); }
Tensor silu(const Tensor& x) {
  const ErrorPlace scope("silu");
  return activation<"silu">("Silu", x, [](const Tensor& v) { return v * sigmoid(v); });
}
Tensor mish(const Tensor& x) {
  const ErrorPlace scope("mish");
  return at_once<"mish">(x, [](const Tensor& v) { return v * tanh(softplus(v)); });
}
Tensor softplus(const Tensor& x) {
  const ErrorPlace scope("softplus");
  return activation<"softplus">("Softplus", x,
                                [](const Tensor& v) { return relu(v) + log1p_exp_minus_abs(v); });
}
Tensor softsign(const Tensor& x) {
  const ErrorPlace scope("softsign");
  return activation<"softsign">("Softsign", x, [](const Tensor& v) { return v / (abs(v) + 1); });
}
Tensor log_sigmoid(const Tensor& x) {
  const ErrorPlace scope("log_sigmoid");
  return activation<"log_sigmoid">("LogSigmoid", x, [](const Tensor& v) { return -softplus(-v); });
}
Tensor hard_sigmoid(const Tensor& x) {
  const ErrorPlace scope("hard_sigmoid");
  return activation<"hard_sigmoid">("HardSigmoid", x,
                                    [](const Tensor& v) { return relu6(v + 3) / 6; });
}
Tensor hard_silu(const Tensor& x) {
  const ErrorPlace scope("hard_silu");
  return activation<"hard_silu">("HardSilu", x,
                                 [](const Tensor& v) { return v * hard_sigmoid(v); });
}
Tensor hard_tanh(const Tensor& x) {
  const ErrorPlace scope("hard_tanh");
  return clip(x, -1, 1);
}
Tensor hard_shrink(const Tensor& x, double threshold) {
  const ErrorPlace scope("hard_shrink");
  return activation<"hard_shrink">("HardShrink", x, "threshold", threshold, [=](const Tensor& v) {
    return where(abs(v) > threshold, v, constant_like(v, 0));
  });
}
Tensor soft_shrink(const Tensor& x, double threshold) {
  const ErrorPlace scope("soft_shrink");
  return activation<"soft_shrink">("SoftShrink", x, "threshold", threshold, [=](const Tensor& v) {
    const Tensor zero = constant_like(v, 0);
    return where(v > threshold, v - threshold, where(v < -threshold, v + threshold, zero));
  });
}
Tensor tanh_shrink(const Tensor& x) {
  const ErrorPlace scope("tanh_shrink");
  return activation<"tanh_shrink">("TanhShrink", x, [](const Tensor& v) { return v - tanh(v); });
}
Tensor squareplus(const Tensor& x, double b) {
  const ErrorPlace scope("squareplus");
  return activation<"squareplus">("Squareplus", x, "b", b,
                                  [=](const Tensor& v) { return (v + sqrt(square(v) + b)) * 0.5; });
}
Tensor sparse_plus(const Tensor& x) {
  const ErrorPlace scope("sparse_plus");
  return activation<"sparse_plus">("SparsePlus", x, [](const Tensor& v) {
    return where(v <= -1, constant_like(v, 0), where(v < 1, square(v + 1) * 0.25, v));
  });
}
Tensor sparse_sigmoid(const Tensor& x) {
  const ErrorPlace scope("sparse_sigmoid");
  return activation<"sparse_sigmoid">("SparseSigmoid", x, [](const Tensor& v) {
    return where(v <= -1, constant_like(v, 0), where(v >= 1, constant_like(v, 1), (v + 1) * 0.5));
  });
}
Tensor threshold(const Tensor& x, double threshold, double default_value) {
  const ErrorPlace scope("threshold");
  return where(x > threshold, x, constant_like(x, default_value));
}
Tensor glu(const Tensor& x, int64_t axis) {
  const ErrorPlace scope("glu");
  const auto halves = split(x, 2, axis);
  return halves[0] * sigmoid(halves[1]);
}

Tensor binary_crossentropy(const Tensor& target, const Tensor& output, bool is_logits) {
  const ErrorPlace scope("binary_crossentropy");
  require_same_shape(target, output, "binary_crossentropy",
                     "Reshape one, for example with ops::expand_dims(target, -1).");
  const auto [x, from_logits] = logits_or(output, is_logits, "sigmoid");
  const Tensor t = cast(target, x.dtype());
  if (from_logits) return (relu(x) - x * t) + log1p_exp_minus_abs(x);
  const Tensor p = clip_probability(x);
  return -(t * log(p) + (1 - t) * log(1 - p));
}

Tensor categorical_crossentropy(const Tensor& target, const Tensor& output,
                                const CategoricalCrossentropyOptions& options) {
  const ErrorPlace scope("categorical_crossentropy");
  require_same_shape(target, output, "categorical_crossentropy",
                     "Use sparse_categorical_crossentropy for targets that are class numbers.");
  const int64_t axis = output.shape().normalize_axis(options.axis, "categorical_crossentropy");
  const auto [x, from_logits] = logits_along(axis, output, options.from_logits);
  const Tensor t = cast(target, x.dtype());
  if (from_logits) {
    return softmax_cross_entropy(moveaxis(x, axis, -1), moveaxis(t, axis, -1)).first;
  }
  const Tensor p = x / sum(x, axis, true);
  return -sum(t * log(clip_probability(p)), axis);
}

Tensor sparse_categorical_crossentropy(const Tensor& target, const Tensor& output,
                                       const SparseCategoricalCrossentropyOptions& options) {
  const int64_t axis =
      output.shape().normalize_axis(options.axis, "sparse_categorical_crossentropy");
  const auto [x, from_logits] = logits_along(axis, output, options.from_logits);
  const bool kept = target.rank() == x.rank() && target.shape()[axis] == 1;
  const Tensor labels = kept ? squeeze(target, axis) : target;
  // Probabilities are converted to logits, as Keras does on TensorFlow.
  const Tensor logits = from_logits ? x : log(clip_probability(x));
  return sparse_softmax_cross_entropy(moveaxis(logits, axis, -1), labels, options.ignore_class)
      .first;
}

Tensor sparsemax(const Tensor& x, int64_t axis) {
  const ErrorPlace scope("sparsemax");
  const int64_t at = x.shape().normalize_axis(axis, "sparsemax");
  if (is_open(x, at)) {
    return whole_of("sparsemax", x, {"nn", "Sparsemax", Json::object({{"axis", axis}})},
                    [axis](const Tensor& in) { return sparsemax(in, axis); });
  }
  const Tensor z = moveaxis(to_floating(x), at, -1);
  const Tensor sorted = sort(z, -1, true);
  const Tensor rank = cast(arange(1, z.shape().back() + 1), z.dtype());
  const Tensor sums = cumsum(sorted, -1);
  const Tensor inside = cast(sorted * rank + 1 > sums, z.dtype());
  const Tensor count = sum(inside, -1, true);
  const Tensor threshold = (sum(sorted * inside, -1, true) - 1) / count;
  return moveaxis(relu(z - threshold), -1, at);
}

std::pair<Tensor, Tensor> softmax_cross_entropy(const Tensor& logits, const Tensor& targets) {
  const ErrorPlace scope("softmax_cross_entropy");
  const auto outputs =
      cornu::apply(op<"softmax_cross_entropy">(), {logits, cast(targets, logits.dtype())});
  return {outputs[0], outputs[1]};
}

std::pair<Tensor, Tensor> sparse_softmax_cross_entropy(const Tensor& logits, const Tensor& labels,
                                                       std::optional<int64_t> ignore_class) {
  const Tensor indices = is_integer(labels.dtype()) ? labels : cast(labels, DType::Int64);
  const auto outputs = cornu::apply(op<"sparse_softmax_cross_entropy">(), {logits, indices},
                                    {{"ignore_class", ignore_class.value_or(kNoIgnoredClass)}});
  return {outputs[0], outputs[1]};
}

}  // namespace cornu::ops
