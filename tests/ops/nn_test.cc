// SPDX-License-Identifier: Apache-2.0
// Activations, cross-entropies and normalizations.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "framework/autodiff/gradient_tape.h"
#include "framework/graph/attributes.h"
#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"

namespace cornu::testing {
namespace {

using Inputs = std::vector<Tensor>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::log1p(std::exp(-std::abs(x))) + std::max(x, 0.0); }

struct ActivationCase {
  const char* name;
  std::function<Tensor(const Tensor&)> op;
  double (*reference)(double);
};

const ActivationCase kActivations[] = {
    {"relu", ops::relu, [](double x) { return std::max(x, 0.0); }},
    {"relu6", ops::relu6, [](double x) { return std::min(std::max(x, 0.0), 6.0); }},
    {"leaky_relu", [](const Tensor& x) { return ops::leaky_relu(x); },
     [](double x) { return x > 0 ? x : 0.2 * x; }},
    {"elu", [](const Tensor& x) { return ops::elu(x, 0.5); },
     [](double x) { return x > 0 ? x : 0.5 * std::expm1(x); }},
    {"selu", ops::selu,
     [](double x) {
       return 1.0507009873554804934 * (x > 0 ? x : 1.6732632423543772848 * std::expm1(x));
     }},
    {"celu", [](const Tensor& x) { return ops::celu(x, 2); },
     [](double x) { return x > 0 ? x : 2 * std::expm1(x / 2); }},
    {"gelu", [](const Tensor& x) { return ops::gelu(x, false); },
     [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2))); }},
    {"gelu approximate", [](const Tensor& x) { return ops::gelu(x); },
     [](double x) {
       return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
     }},
    {"silu", ops::silu, [](double x) { return x * sigmoid(x); }},
    {"sigmoid", ops::sigmoid, sigmoid},
    {"log_sigmoid", ops::log_sigmoid, [](double x) { return -softplus(-x); }},
    {"hard_sigmoid", ops::hard_sigmoid,
     [](double x) { return std::min(std::max(x + 3, 0.0), 6.0) / 6; }},
    {"hard_silu", ops::hard_silu,
     [](double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; }},
    {"hard_tanh", ops::hard_tanh, [](double x) { return std::min(std::max(x, -1.0), 1.0); }},
    {"hard_shrink", [](const Tensor& x) { return ops::hard_shrink(x); },
     [](double x) { return std::abs(x) > 0.5 ? x : 0; }},
    {"soft_shrink", [](const Tensor& x) { return ops::soft_shrink(x); },
     [](double x) { return x > 0.5 ? x - 0.5 : (x < -0.5 ? x + 0.5 : 0); }},
    {"tanh_shrink", ops::tanh_shrink, [](double x) { return x - std::tanh(x); }},
    {"softplus", ops::softplus, softplus},
    {"softsign", ops::softsign, [](double x) { return x / (1 + std::abs(x)); }},
    {"sparse_plus", ops::sparse_plus,
     [](double x) { return x <= -1 ? 0 : (x < 1 ? (x + 1) * (x + 1) / 4 : x); }},
    {"sparse_sigmoid", ops::sparse_sigmoid,
     [](double x) { return std::min(std::max((x + 1) / 2, 0.0), 1.0); }},
    {"squareplus", [](const Tensor& x) { return ops::squareplus(x); },
     [](double x) { return (x + std::sqrt(x * x + 4)) / 2; }},
    {"mish", ops::mish, [](double x) { return x * std::tanh(softplus(x)); }},
    {"exponential", ops::exponential, [](double x) { return std::exp(x); }},
    {"threshold", [](const Tensor& x) { return ops::threshold(x, 0.25, -1); },
     [](double x) { return x > 0.25 ? x : -1; }},
};

TEST_CASE("activations: value, gradient, second-order gradient") {
  const Tensor x = random_tensor({4, 10}, -8, 8, 21);
  for (const ActivationCase& c : kActivations) {
    INFO(c.name);
    std::vector<double> expected;
    for (double value : to_doubles(x)) expected.push_back(c.reference(value));
    check_op([&](const Inputs& in) { return c.op(in[0]); }, {x}, {4, 10}, expected,
             {.gradients = {.tolerance = 1e-4}});
  }
}

// Without a tape, an op that was called a few times is run by a single program.
TEST_CASE("activations: the same bits again and again, and one by one under a tape") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const ActivationCase& activation : kActivations) {
    INFO(activation.name);
    for (const DType dtype : {DType::Float32, DType::Float64, DType::BFloat16}) {
      for (const int64_t size : {0, 1, 7, 100, 5000}) {
        Tensor x = ops::cast(random_tensor({size}, -8, 8, 5), dtype);
        if (size == 100) {
          x = ops::concatenate(
              {x,
               ops::cast(Tensor::from({kInfinity, -kInfinity, 0.0, -0.0, std::nan("")}), dtype)});
        }
        Tensor one_by_one;
        {
          GradientTape tape;
          tape.watch(x);
          one_by_one = activation.op(x);
        }
        for (int call = 0; call < 4; ++call) {
          const Tensor y = activation.op(x);
          CHECK(y.dtype() == dtype);
          CHECK(to_doubles(y).size() == static_cast<size_t>(x.num_elements()));
          check_same(y, one_by_one);
        }
      }
    }
  }
}

TEST_CASE("composites of one name are told apart by their numbers, and keep to a device") {
  const Tensor x = Tensor::from(std::vector<float>{-1, 2});
  for (int call = 0; call < 4; ++call) {
    for (const double slope : {0.5, 0.25}) {
      check_values(ops::leaky_relu(x, slope), {2}, {-slope, 2});
      CHECK(ops::leaky_relu(x.to("CPU:0"), slope).is_bound());
      CHECK_FALSE(ops::leaky_relu(x, slope).is_bound());
    }
  }
}

TEST_CASE("a tape that follows a weight alone sees the ops of a normalization") {
  const Variable scale(random_tensor({5}, 1, 2, 4));
  const Tensor x = random_tensor({6, 5}, -2, 2, 3);
  for (int call = 0; call < 4; ++call) {
    ops::layer_normalization(x, {.gamma = scale.value()});
    GradientTape tape;
    const Tensor y = ops::layer_normalization(x, {.gamma = scale.value()});
    const Tensor gradient = tape.gradient(ops::sum(y), scale);
    check_same(gradient, ops::sum(ops::layer_normalization(x), 0), 1e-12);
  }
}

TEST_CASE("normalizations: the same again and again, with and without weights") {
  const Tensor x = random_tensor({6, 5}, -2, 2, 3);
  const Tensor scale = random_tensor({5}, 1, 2, 4), shift = random_tensor({5}, -1, 1, 5);
  for (const Tensor& gamma : {Tensor(), scale}) {
    for (const Tensor& beta : {Tensor(), shift}) {
      std::vector<double> expected = to_doubles(x);
      for (size_t row = 0; row < 6; ++row) {
        double mean = 0, variance = 0;
        for (size_t i = 0; i < 5; ++i) mean += expected[row * 5 + i] / 5;
        for (size_t i = 0; i < 5; ++i) variance += std::pow(expected[row * 5 + i] - mean, 2) / 5;
        for (size_t i = 0; i < 5; ++i) {
          double& at = expected[row * 5 + i];
          at = (at - mean) / std::sqrt(variance + 1e-3);
          if (gamma.defined()) at *= to_doubles(gamma)[i];
          if (beta.defined()) at += to_doubles(beta)[i];
        }
      }
      for (int call = 0; call < 4; ++call) {
        check_values(ops::layer_normalization(x, {.gamma = gamma, .beta = beta, .epsilon = 1e-3}),
                     {6, 5}, expected);
      }
    }
  }
}

TEST_CASE("activations: finite values and gradients far from 0") {
  const Tensor x = Tensor::from(std::vector<float>{-1e4f, -100, -30, 30, 100, 1e4f});
  for (const ActivationCase& c : kActivations) {
    if (std::string(c.name) == "exponential") continue;
    INFO(c.name);
    GradientTape tape;
    tape.watch(x);
    const Tensor y = c.op(x);
    for (double value : to_doubles(y)) CHECK(std::isfinite(value));
    for (double value : to_doubles(tape.gradient(y, x))) CHECK(std::isfinite(value));
  }
}

// Gradients at kinks as in TensorFlow.
TEST_CASE("activations: gradients at kinks") {
  auto gradient_at = [](const OpFunction& f, double at) {
    const Tensor x = Tensor::scalar(at);
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(f({x}), x).item<double>();
  };
  auto at = [&](auto op, double place) {
    return gradient_at([&](const Inputs& in) { return op(in[0]); }, place);
  };
  CHECK(at(ops::relu, 0) == 0);
  CHECK(at(ops::relu6, 0) == 0);
  CHECK(at(ops::relu6, 6) == 0);
  CHECK(at([](const Tensor& x) { return ops::leaky_relu(x); }, 0) == 0.2);
  CHECK(at([](const Tensor& x) { return ops::elu(x); }, 0) == 1);
  CHECK(at(ops::selu, 0) == doctest::Approx(1.0507009873554805));
  CHECK(at(ops::hard_tanh, 1) == 1);
  CHECK(at(ops::softplus, 0) == 0.5);
  CHECK(at(ops::log_sigmoid, 0) == 0.5);
  CHECK(at(ops::softsign, 0) == 1);
}

TEST_CASE("softplus: smooth at 0 to the second order") {
  check_gradients([](const Inputs& in) { return ops::softplus(in[0]); },
                  {Tensor::from(std::vector<double>{0, 1e-9, -1e-9})}, {.tolerance = 1e-4});
}

// Applies `f` to the slices of x along an axis.
std::vector<double> along_axis(const Tensor& x, int64_t axis,
                               const std::function<std::vector<double>(std::vector<double>)>& f) {
  const auto values = to_doubles(x);
  std::vector<double> result(values.size());
  for (auto index : indices_of(x.shape())) {
    if (index[static_cast<size_t>(axis)] != 0) continue;
    std::vector<double> line;
    for (int64_t i = 0; i < x.shape()[axis]; ++i) {
      index[static_cast<size_t>(axis)] = i;
      line.push_back(values[offset_of(x.shape(), index)]);
    }
    const std::vector<double> mapped = f(line);
    for (int64_t i = 0; i < x.shape()[axis]; ++i) {
      index[static_cast<size_t>(axis)] = i;
      result[offset_of(x.shape(), index)] = mapped[static_cast<size_t>(i)];
    }
  }
  return result;
}

std::vector<double> plain_softmax(std::vector<double> x) {
  double total = 0;
  for (double value : x) total += std::exp(value);
  for (double& value : x) value = std::exp(value) / total;
  return x;
}

std::vector<double> plain_log_softmax(std::vector<double> x) {
  x = plain_softmax(x);
  for (double& value : x) value = std::log(value);
  return x;
}

// The projection onto the simplex, by trying every support size.
std::vector<double> plain_sparsemax(std::vector<double> x) {
  std::vector<double> sorted = x;
  std::sort(sorted.rbegin(), sorted.rend());
  double total = 0;
  double threshold = 0;
  for (size_t k = 0; k < sorted.size(); ++k) {
    total += sorted[k];
    const double candidate = (total - 1) / static_cast<double>(k + 1);
    if (sorted[k] > candidate) threshold = candidate;
  }
  for (double& value : x) value = std::max(value - threshold, 0.0);
  return x;
}

TEST_CASE("softmax over several axes of 16-bit numbers is as exact as over one") {
  const Tensor x = ops::reshape(ops::sin(ops::arange(256, DType::Float32)) * 4.0, {2, 8, 16});
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    const Tensor narrow = ops::cast(x, dtype);
    const Tensor one = ops::softmax(ops::reshape(narrow, {2, 128}));
    const Tensor several = ops::reshape(ops::softmax(narrow, {1, 2}), {2, 128});
    CHECK(several.dtype() == dtype);
    const double eps = dtype == DType::Float16 ? 1e-3 : 8e-3;  // one unit in the last place
    const Tensor off = ops::abs(ops::cast(several, DType::Float32) / one - 1);
    CHECK(ops::max(off).item<float>() <= eps);
  }
}

TEST_CASE("softmax, log_softmax, sparsemax over each axis") {
  const Tensor x = random_tensor({3, 4, 2}, -2, 2, 5);
  for (int64_t axis = 0; axis < 3; ++axis) {
    INFO("axis " << axis);
    check_op([&](const Inputs& in) { return ops::softmax(in[0], axis); }, {x}, x.shape(),
             along_axis(x, axis, plain_softmax));
    check_op([&](const Inputs& in) { return ops::log_softmax(in[0], axis); }, {x}, x.shape(),
             along_axis(x, axis, plain_log_softmax));
    check_op([&](const Inputs& in) { return ops::sparsemax(in[0], axis); }, {x}, x.shape(),
             along_axis(x, axis, plain_sparsemax));
  }
  check_values(ops::softmax(Tensor::from(std::vector<float>{1000, 1000})), {2}, {0.5, 0.5});
  check_values(ops::softmax(Tensor::empty({0, 3}, DType::Float32)), {0, 3}, {});
}

TEST_CASE("glu") {
  const Tensor x = random_tensor({2, 4});
  const auto v = to_doubles(x);
  check_op(
      [](const Inputs& in) { return ops::glu(in[0]); }, {x}, {2, 2},
      {v[0] * sigmoid(v[2]), v[1] * sigmoid(v[3]), v[4] * sigmoid(v[6]), v[5] * sigmoid(v[7])});
}

TEST_CASE("binary_crossentropy of logits and of probabilities") {
  const Tensor target = random_tensor({3, 4}, 0, 1, 1);
  const Tensor logits = random_tensor({3, 4}, -5, 5, 2);
  std::vector<double> expected;
  for (size_t i = 0; i < 12; ++i) {
    const double p = sigmoid(to_doubles(logits)[i]);
    const double t = to_doubles(target)[i];
    expected.push_back(-t * std::log(p) - (1 - t) * std::log(1 - p));
  }
  check_op([](const Inputs& in) { return ops::binary_crossentropy(in[0], in[1], true); },
           {target, logits}, {3, 4}, expected);
  check_op([](const Inputs& in) { return ops::binary_crossentropy(in[0], in[1]); },
           {target, 1 - ops::sigmoid(-logits)}, {3, 4}, expected,
           {.gradients = {.tolerance = 1e-3}, .float32_tolerance = 1e-3});
  const Tensor extreme = Tensor::from(std::vector<float>{-1e4f, 20, 1e4f, 0});
  const Tensor sure = Tensor::from(std::vector<float>{0, 1, 1, 1});
  check_values(ops::binary_crossentropy(sure, extreme, true), {4},
               {0, std::log1p(std::exp(-20.0)), 0, std::log(2)}, 1e-7);
  GradientTape tape;
  tape.watch(extreme);
  check_values(tape.gradient(ops::binary_crossentropy(sure, extreme, true), extreme), {4},
               {0, 0, 0, -0.5}, 1e-7);
  // Probabilities are clipped to [1e-7, 1 - 1e-7].
  const Tensor wrong = Tensor::from(std::vector<double>{0, 1});
  check_values(ops::binary_crossentropy(ops::ones({2}, DType::Float64), wrong), {2},
               {-std::log(1e-7), -std::log(1 - 1e-7)}, 1e-9);
}

TEST_CASE("categorical_crossentropy: logits, probabilities, axes") {
  const Tensor target = random_tensor({2, 3, 4}, 0, 1, 3);  // needn't sum to 1
  const Tensor logits = random_tensor({2, 3, 4}, -2, 2, 4);
  for (const int64_t axis : {-1, 1}) {
    INFO("axis " << axis);
    const int64_t at = axis < 0 ? 2 : axis;
    const Shape shape = at == 2 ? Shape{2, 3} : Shape{2, 4};
    const auto logs = along_axis(logits, at, plain_log_softmax);
    std::vector<double> expected;
    for (const auto& index : indices_of(shape)) {
      double total = 0;
      for (int64_t c = 0; c < logits.shape()[at]; ++c) {
        auto place = index;
        place.insert(place.begin() + at, c);
        const size_t offset = offset_of({2, 3, 4}, place);
        total -= to_doubles(target)[offset] * logs[offset];
      }
      expected.push_back(total);
    }
    check_op(
        [&](const Inputs& in) {
          return ops::categorical_crossentropy(in[0], in[1], {.from_logits = true, .axis = axis});
        },
        {target, logits}, shape, expected);
    check_op(
        [&](const Inputs& in) {
          return ops::categorical_crossentropy(in[0], ops::exp(in[1]), {.axis = axis});
        },
        {target, logits}, shape, expected);
  }
}

TEST_CASE("sparse_categorical_crossentropy: logits, probabilities, target shapes, ignore_class") {
  const Tensor logits = random_tensor({4, 3}, -2, 2, 6);
  const auto logs = along_axis(logits, 1, plain_log_softmax);
  for (const DType dtype : {DType::UInt8, DType::Int32, DType::Int64}) {
    const Tensor labels = ops::cast(Tensor::from(std::vector<int32_t>{2, 0, 1, 1}), dtype);
    const std::vector<double> expected = {-logs[2], -logs[3], -logs[7], -logs[10]};
    check_op(
        [](const Inputs& in) {
          return ops::sparse_categorical_crossentropy(in[0], in[1], {.from_logits = true});
        },
        {labels, logits}, {4}, expected);
    check_op(
        [](const Inputs& in) {
          return ops::sparse_categorical_crossentropy(in[0], ops::softmax(in[1]));
        },
        {ops::expand_dims(labels, -1), logits}, {4}, expected);
    check_op(
        [](const Inputs& in) {
          return ops::sparse_categorical_crossentropy(in[0], in[1],
                                                      {.from_logits = true, .ignore_class = 1});
        },
        {labels, logits}, {4}, {-logs[2], -logs[3], 0, 0});
  }
  const Tensor turned = ops::transpose(logits);
  check_values(
      ops::sparse_categorical_crossentropy(Tensor::from(std::vector<int32_t>{2, 0, 1, 1}, {1, 4}),
                                           turned, {.from_logits = true, .axis = 0}),
      {4}, {-logs[2], -logs[3], -logs[7], -logs[10]}, 1e-9);
}

TEST_CASE("the probabilities of the fused cross-entropies carry gradients too") {
  const Tensor logits = random_tensor({3, 4}, -2, 2, 7);
  const Tensor target = random_tensor({3, 4}, 0, 1, 8);
  const Tensor labels = Tensor::from(std::vector<int32_t>{1, 3, 0});
  check_gradients(
      [](const Inputs& in) {
        const auto [loss, p] = ops::softmax_cross_entropy(in[0], in[1]);
        return ops::concatenate({ops::square(p), ops::expand_dims(loss, -1)}, -1);
      },
      {logits, target});
  check_gradients(
      [](const Inputs& in) {
        return ops::square(ops::sparse_softmax_cross_entropy(in[0], in[1]).second);
      },
      {logits, labels});
}

// ---- normalizations ----

TEST_CASE("moments and batch_normalization") {
  const Tensor x = random_tensor({4, 3, 2}, -2, 2, 9);
  const auto [mean, variance] = ops::moments(x, {0, 1});
  check_same(mean, ops::mean(x, {0, 1}));
  check_same(variance, ops::var(x, {0, 1}));
  CHECK(ops::moments(x, {0, 1}, true).second.shape() == Shape{1, 1, 2});
  const Tensor scale = random_tensor({2}, 0.5, 2, 10);
  const Tensor offset = random_tensor({2}, -1, 1, 11);
  std::vector<double> expected;
  for (const auto& p : indices_of(x.shape())) {
    const auto c = static_cast<size_t>(p[2]);
    expected.push_back((to_doubles(x)[offset_of(x.shape(), p)] - to_doubles(mean)[c]) /
                           std::sqrt(to_doubles(variance)[c] + 1e-3) * to_doubles(scale)[c] +
                       to_doubles(offset)[c]);
  }
  check_op(
      [](const Inputs& in) {
        const auto [m, v] = ops::moments(in[0], {0, 1});
        return ops::batch_normalization(in[0], m, v, -1, {.offset = in[2], .scale = in[1]});
      },
      {x, scale, offset}, x.shape(), expected, {.gradients = {.tolerance = 1e-4}});
  const Tensor first = ops::batch_normalization(ops::moveaxis(x, -1, 1), mean, variance, 1,
                                                {.offset = offset, .scale = scale});
  check_values(ops::moveaxis(first, 1, -1), x.shape(), expected, 1e-10);
}

TEST_CASE("layer_normalization and rms_normalization") {
  const Tensor x = random_tensor({3, 4}, -2, 2, 12);
  const Tensor gamma = random_tensor({4}, 0.5, 2, 13);
  const Tensor beta = random_tensor({4}, -1, 1, 14);
  std::vector<double> layer;
  std::vector<double> rms;
  for (size_t row = 0; row < 3; ++row) {
    double mean = 0;
    double square = 0;
    for (size_t i = 0; i < 4; ++i) mean += to_doubles(x)[row * 4 + i] / 4;
    for (size_t i = 0; i < 4; ++i) square += std::pow(to_doubles(x)[row * 4 + i], 2) / 4;
    const double variance = square - mean * mean;
    for (size_t i = 0; i < 4; ++i) {
      const double value = to_doubles(x)[row * 4 + i];
      layer.push_back((value - mean) / std::sqrt(variance + 1e-3) * to_doubles(gamma)[i] +
                      to_doubles(beta)[i]);
      rms.push_back(value / std::sqrt(square + 1e-7) * to_doubles(gamma)[i]);
    }
  }
  check_op(
      [](const Inputs& in) {
        return ops::layer_normalization(in[0], {.gamma = in[1], .beta = in[2], .epsilon = 1e-3});
      },
      {x, gamma, beta}, {3, 4}, layer, {.gradients = {.tolerance = 1e-4}});
  check_op([](const Inputs& in) { return ops::rms_normalization(in[0], {.scale = in[1]}); },
           {x, gamma}, {3, 4}, rms);
  // With two axes, the weights have both.
  const Tensor plain = ops::layer_normalization(ops::reshape(x, {1, 3, 4}), {.axis = {1, 2}});
  check_values(ops::mean(plain), {}, {0}, 1e-10);
  check_values(ops::std(plain), {}, {1}, 1e-6);
}

TEST_CASE("normalize by several norms; nothing but zeros stays so") {
  const Tensor x = Tensor::from(std::vector<double>{3, -4, 0, 0}, {2, 2});
  check_values(ops::normalize(x), {2, 2}, {0.6, -0.8, 0, 0});
  check_values(ops::normalize(x, {.order = 1}), {2, 2}, {3.0 / 7, -4.0 / 7, 0, 0});
  check_values(ops::normalize(x, {.order = std::numeric_limits<double>::infinity()}), {2, 2},
               {0.75, -1, 0, 0});
  check_values(ops::normalize(x, {.axis = 0}), {2, 2}, {1, -1, 0, 0});
  check_gradients([](const Inputs& in) { return ops::normalize(in[0]); }, {random_tensor({2, 3})});
  GradientTape tape;
  tape.watch(x);
  for (double value : to_doubles(tape.gradient(ops::normalize(x), x))) CHECK(std::isfinite(value));
}

TEST_CASE("normalizations of 16-bit floats keep their dtype") {
  const Tensor x = ops::cast(random_tensor({8, 4}), DType::Float16);
  CHECK(ops::layer_normalization(x).dtype() == DType::Float16);
  CHECK(ops::moments(x, 0).second.dtype() == DType::Float16);
  const auto [mean, variance] = ops::moments(ops::cast(x, DType::Float32), 0);
  CHECK(ops::batch_normalization(x, mean, variance).dtype() == DType::Float16);
}

TEST_CASE("normalizations have the same bits with each call, on any thread") {
  for (const int64_t axis : {0, 1}) {
    const Tensor x = random_tensor({64, 129}, -3, 3, 4);
    const auto normalized = [&] { return ops::layer_normalization(x, {.axis = {axis}}); };
    const Tensor first = normalized();
    for (int call = 0; call < 4; ++call) check_same(normalized(), first);
    std::thread([&] { check_same(normalized(), first); }).join();
  }
}

TEST_CASE("numbers that programs depend on are told apart by their bits") {
  const Tensor x = Tensor::from(std::vector<float>{-2, -0.5F, 0, 3});
  const double nan = std::nan("");
  for (const double alpha : {0.0, -0.0, nan, 0.5}) {
    Tensor under_tape;
    {
      GradientTape tape;
      tape.watch(x);
      under_tape = ops::celu(x, alpha);
    }
    for (int call = 0; call < 4; ++call) check_same(ops::celu(x, alpha), under_tape);
  }
  CHECK(Attributes{{"alpha", nan}} == Attributes{{"alpha", nan}});
  CHECK_FALSE(Attributes{{"alpha", 0.0}} == Attributes{{"alpha", -0.0}});
}

}  // namespace
}  // namespace cornu::testing
