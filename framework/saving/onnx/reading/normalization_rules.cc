// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "framework/model/input.h"
#include "framework/ops/ops.h"
#include "framework/saving/onnx/reading/rules.h"

namespace cornu::onnx::reading {
namespace {

constexpr float kEpsilon = 1e-5f;

void read_batch_normalization(NodeReader& n) {
  const Tensor x = n.in(0);
  if (n.integer("training_mode", 0) != 0)
    n.refuse("it normalizes by the batch in predictions, too");
  if (n.opset() < 7 && n.integer("is_test", 0) == 0) {
    n.refuse("it normalizes by the batch in predictions, too (is_test is 0)");
  }
  if (n.opset() < 14 && (n.wants(1) || n.wants(2) || n.wants(3) || n.wants(4))) {
    n.refuse("it normalizes by the batch in predictions, too (it has more than one output)");
  }
  if (n.integer("spatial", 1) == 0) n.refuse("it has a mean for each place (spatial is 0)");
  check<InvalidArgument>(x.rank() >= 2, "expected an input (batch, channels, …), got {}.",
                         x.shape());
  const double epsilon = n.number("epsilon", kEpsilon);
  const bool constant =
      n.is_constant(1) && n.is_constant(2) && n.is_constant(3) && n.is_constant(4);
  if (!is_placeholder(x) || !constant) {
    return n.give(ops::batch_normalization(
        x, n.in(3), n.in(4), 1, {.offset = n.in(2), .scale = n.in(1), .epsilon = epsilon}));
  }
  const Json config =
      Json::object({{"axis", 1}, {"momentum", n.number("momentum", 0.9f)}, {"epsilon", epsilon}});
  n.give(n.layer("BatchNormalization", config, x,
                 {{"gamma", n.in(1)},
                  {"beta", n.in(2)},
                  {"moving_mean", n.in(3)},
                  {"moving_variance", n.in(4)}})
             .single());
}

// Repeats each element of a per-group vector for all channels of the group.
Tensor for_channels(const Tensor& values, int64_t channels) {
  if (values.num_elements() == 0 || values.dim(0) == channels) return values;
  return ops::repeat(values, channels / values.dim(0), 0);
}

void give_group_normalization(NodeReader& n, int64_t groups) {
  const Tensor x = n.in(0);
  check<InvalidArgument>(x.rank() >= 2 && x.dim(1) > 0 && groups > 0 && x.dim(1) % groups == 0,
                         "expected an input (batch, channels, …) and groups that divide the "
                         "channels, got {} and {}.",
                         x.shape(), groups);
  const Json config =
      Json::object({{"groups", groups}, {"axis", 1}, {"epsilon", n.number("epsilon", kEpsilon)}});
  n.give(n.layer("GroupNormalization", config, x,
                 {{"gamma", for_channels(n.constant(1), x.dim(1))},
                  {"beta", for_channels(n.constant(2), x.dim(1))}})
             .single());
}

void read_instance_normalization(NodeReader& n) {
  const Tensor x = n.in(0);
  check<InvalidArgument>(x.rank() >= 3, "expected an input (batch, channels, …), got {}.",
                         x.shape());
  give_group_normalization(n, x.dim(1));
}

void read_group_normalization(NodeReader& n) {
  give_group_normalization(n, n.integer("num_groups", 0));
}

Ints axes_from(int64_t first, int64_t rank) {
  Ints axes(static_cast<size_t>(rank - first));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

// With the mean and the inverse of the standard deviation, if they are outputs.
void give_with_moments(NodeReader& n, const Tensor& y, const Axes& axes, double epsilon) {
  if (!n.wants(1) && !n.wants(2)) return n.give(y);
  const auto [mean, variance] = ops::moments(n.in(0), axes, true);
  n.give_all({y, mean, ops::rsqrt(ops::add(variance, epsilon))});
}

void read_layer_normalization(NodeReader& n) {
  const Tensor x = n.in(0);
  const Ints axes = axes_from(n.axis(n.integer("axis", -1), x.rank()), x.rank());
  const double epsilon = n.number("epsilon", kEpsilon);
  const auto give = [&](const Tensor& y) { give_with_moments(n, y, axes, epsilon); };
  const Shape sizes = x.shape().slice(axes[0]);
  if (!is_placeholder(x) || !n.is_constant(1) || (n.has(2) && !n.is_constant(2)) ||
      !sizes.is_static()) {
    const Tensor plain = ops::layer_normalization(x, {.axis = axes, .epsilon = epsilon});
    const Tensor scaled = ops::multiply(plain, n.in(1));
    return give(n.has(2) ? ops::add(scaled, n.in(2)) : scaled);
  }
  const auto weight = [&](size_t i) {
    const Tensor given = n.in(i);  // with leading axes of size 1, or fewer axes
    Shape shape = given.shape();
    while (shape.rank() > sizes.rank() && shape.front() == 1) shape = shape.slice(1);
    return ops::broadcast_to(ops::reshape(given, shape), sizes);
  };
  NamedWeights weights = {{"gamma", weight(1)}};
  if (n.has(2)) weights.emplace_back("beta", weight(2));
  const Json config = Json::object({{"axis", axes.size() == 1 ? Json(axes[0]) : Json(axes)},
                                    {"epsilon", epsilon},
                                    {"center", n.has(2)}});
  give(n.layer("LayerNormalization", config, x, weights).single());
}

void read_rms_normalization(NodeReader& n) {
  const Tensor x = n.in(0);
  const Ints axes = axes_from(n.axis(n.integer("axis", -1), x.rank()), x.rank());
  const Tensor plain =
      ops::rms_normalization(x, {.axis = axes, .epsilon = n.number("epsilon", kEpsilon)});
  n.give(ops::multiply(plain, n.in(1)));
}

// x / (bias + alpha / size * (sum of squares of the nearest channels)) ^ beta.
void read_lrn(NodeReader& n) {
  const Tensor x = n.in();
  const int64_t size = n.integer("size", 0);
  const double alpha = n.number("alpha", 1e-4f), beta = n.number("beta", 0.75);
  check<InvalidArgument>(
      x.rank() >= 2 && x.dim(1) > 0 && size > 0,
      "expected an input (batch, channels, …) and a size above 0, got {} and {}.", x.shape(), size);
  if (size > 64) n.refuse("its size is above 64");
  const int64_t before = (size - 1) / 2;
  std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(x.rank()));
  widths[1] = {before, size - 1 - before};
  const Tensor squares = ops::pad(ops::square(x), widths);
  Tensor sum;
  for (int64_t i = 0; i < size; ++i) {
    const Tensor part = ops::slice_axis(squares, 1, i, i + x.dim(1));
    sum = sum.defined() ? ops::add(sum, part) : part;
  }
  const Tensor scale =
      ops::add(ops::multiply(sum, alpha / static_cast<double>(size)), n.number("bias", 1));
  n.give(ops::divide(x, ops::power(scale, beta)));
}

// x divided by its norm along an axis; 0 if the norm is 0.
void read_lp_normalization(NodeReader& n) {
  const Tensor x = n.in();
  const int64_t axis = n.axis(n.integer("axis", -1), x.rank());
  const int64_t p = n.integer("p", 2);
  check<InvalidArgument>(p == 1 || p == 2, "expected the norm 1 or 2, got {}.", p);
  const Tensor norm =
      p == 1 ? ops::sum(ops::abs(x), axis, true) : ops::sqrt(ops::sum(ops::square(x), axis, true));
  n.give(ops::divide_no_nan(x, norm));
}

void read_mean_variance_normalization(NodeReader& n) {
  const Tensor x = n.in();
  const Axes axes = n.integers("axes", {0, 2, 3});
  const auto [mean, variance] = ops::moments(x, axes, true);
  n.give(ops::divide(ops::subtract(x, mean), ops::add(ops::sqrt(variance), 1e-9)));
}

const Rule kRulesOfNormalizations[] = {
    {"BatchNormalization", read_batch_normalization},
    {"GroupNormalization", read_group_normalization},
    {"InstanceNormalization", read_instance_normalization},
    {"LRN", read_lrn},
    {"LayerNormalization", read_layer_normalization},
    {"LpNormalization", read_lp_normalization},
    {"MeanVarianceNormalization", read_mean_variance_normalization},
    {"RMSNormalization", read_rms_normalization},
};

}  // namespace

std::span<const Rule> normalization_rules() { return kRulesOfNormalizations; }

}  // namespace cornu::onnx::reading
