// SPDX-License-Identifier: Apache-2.0
// Matrix products, convolutions and pooling compared with plain loops.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/autodiff/gradient_tape.h"
#include "framework/graph/function.h"
#include "framework/graph/trace.h"
#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"

namespace cornu::testing {
namespace {

using Inputs = std::vector<Tensor>;
using Ints = std::vector<int64_t>;

// ---- matmul ----

std::vector<double> plain_matmul(const Tensor& a, const Tensor& b, bool ta, bool tb,
                                 const Shape& out) {
  const auto va = to_doubles(a);
  const auto vb = to_doubles(b);
  const int64_t inner = a.shape()[a.rank() - (ta ? 2 : 1)];
  std::vector<double> result;
  for (const auto& index : indices_of(out)) {
    const Ints batch(index.begin(), index.end() - 2);
    const int64_t i = index[index.size() - 2];
    const int64_t j = index.back();
    double total = 0;
    for (int64_t k = 0; k < inner; ++k) {
      Ints at_a = batch;
      Ints at_b = batch;
      at_a.insert(at_a.end(), {ta ? k : i, ta ? i : k});
      at_b.insert(at_b.end(), {tb ? j : k, tb ? k : j});
      total += va[offset_of(a.shape(), at_a)] * vb[offset_of(b.shape(), at_b)];
    }
    result.push_back(total);
  }
  return result;
}

Shape swapped(Shape shape, bool swap) {
  if (swap) std::swap(shape[shape.rank() - 1], shape[shape.rank() - 2]);
  return shape;
}

TEST_CASE("matmul: transposes and batches, value and gradients") {
  struct Case {
    Shape a, b, out;
  };
  const Case cases[] = {{{2, 3}, {3, 4}, {2, 4}},          {{5, 2, 3}, {3, 4}, {5, 2, 4}},
                        {{5, 2, 3}, {5, 3, 4}, {5, 2, 4}}, {{2, 1, 2, 3}, {3, 3, 2}, {2, 3, 2, 2}},
                        {{2, 3}, {2, 3, 4}, {2, 2, 4}},    {{0, 3}, {3, 4}, {0, 4}},
                        {{2, 0}, {0, 4}, {2, 4}}};
  for (const Case& c : cases) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        INFO(c.a.to_string() << " by " << c.b.to_string() << ", " << ta << tb);
        const Tensor a = random_tensor(swapped(c.a, ta), -2, 2, 1);
        const Tensor b = random_tensor(swapped(c.b, tb), -2, 2, 2);
        check_op(
            [&](const Inputs& in) {
              return ops::matmul(in[0], in[1], {.transpose_x1 = ta, .transpose_x2 = tb});
            },
            {a, b}, c.out, plain_matmul(a, b, ta, tb, c.out));
      }
    }
  }
}

TEST_CASE("tensordot refuses axes that don't pair") {
  const Tensor a = ops::ones({2, 3}), b = ops::ones({3, 2}), c = ops::ones({6, 4});
  CHECK(message_of<InvalidArgument>([&] {
          ops::tensordot(a, b, {0, 1}, {0, 1});
        }) ==
        "tensordot: expected pairs of axes of the same size, got axes (0, 1) of shape (2, 3) and "
        "(0, 1) of shape (3, 2).");
  CHECK(message_of<InvalidArgument>([&] {
          ops::tensordot(a, c, {0, 1}, {0});
        }) ==
        "tensordot: expected pairs of axes of the same size, got axes (0, 1) of shape (2, 3) and "
        "(0) of shape (6, 4).");
  CHECK_THROWS_AS(ops::tensordot(a, c, 1), InvalidArgument);
}

TEST_CASE("matmul, dot, tensordot and outer of other ranks") {
  const Tensor row = Tensor::from(std::vector<double>{1, 2, 3});
  const Tensor matrix = Tensor::from(std::vector<double>{1, 0, 0, 1, 1, 1}, {3, 2});
  check_op([](const Inputs& in) { return ops::matmul(in[0], in[1]); }, {row, matrix}, {2}, {4, 5});
  check_op([](const Inputs& in) { return ops::matmul(ops::transpose(in[1]), in[0]); },
           {row, matrix}, {2}, {4, 5});
  check_op([](const Inputs& in) { return ops::matmul(in[0], in[0]); }, {row}, {}, {14});
  check_op([](const Inputs& in) { return ops::dot(in[0], in[0]); }, {row}, {}, {14});
  check_values(ops::dot(row, 2), {3}, {2, 4, 6});

  const Tensor a = random_tensor({2, 3, 4}, -1, 1, 1);
  const Tensor b = random_tensor({5, 4, 2}, -1, 1, 2);
  std::vector<double> expected;
  for (const auto& p : indices_of({2, 3, 5, 2})) {
    double total = 0;
    for (int64_t k = 0; k < 4; ++k) {
      total += to_doubles(a)[offset_of({2, 3, 4}, {p[0], p[1], k})] *
               to_doubles(b)[offset_of({5, 4, 2}, {p[2], k, p[3]})];
    }
    expected.push_back(total);
  }
  check_op([](const Inputs& in) { return ops::dot(in[0], in[1]); }, {a, b}, {2, 3, 5, 2}, expected);

  const Tensor c = random_tensor({4, 3, 2}, -1, 1, 3);
  std::vector<double> contracted;
  for (const auto& p : indices_of({2, 2})) {
    double total = 0;
    for (int64_t j = 0; j < 3; ++j) {
      for (int64_t k = 0; k < 4; ++k) {
        total += to_doubles(a)[offset_of({2, 3, 4}, {p[0], j, k})] *
                 to_doubles(c)[offset_of({4, 3, 2}, {k, j, p[1]})];
      }
    }
    contracted.push_back(total);
  }
  check_op(
      [](const Inputs& in) {
        return ops::tensordot(in[0], in[1], {1, 2}, {1, 0});
      },
      {a, c}, {2, 2}, contracted);
  check_values(ops::tensordot(row, matrix, 1), {2}, {4, 5});
  const Tensor none = Tensor::empty({0, 3, 4}, DType::Float64);
  CHECK(ops::tensordot(none, ops::ones({4, 5}, DType::Float64), 1).shape() == Shape{0, 3, 5});
  CHECK(ops::tensordot(ops::ones({4, 3, 5}, DType::Float64), none, {0, 1}, {2, 1}).shape() ==
        Shape{5, 0});
  check_values(ops::outer(row, Tensor::from(std::vector<double>{1, 10})), {3, 2},
               {1, 10, 2, 20, 3, 30});
}

TEST_CASE("products of small integers have Keras's dtypes") {
  const Tensor a = ops::full({2, 2}, 100, DType::Int8);
  const Tensor wide = ops::full({2, 2}, 20000, DType::Int32);
  check_same(ops::matmul(a, a), wide);
  check_same(ops::einsum("ij,jk->ik", {a, a}), wide);
  check_same(ops::einsum("ij->i", {a}), ops::full({2}, 200, DType::Int32));
  const Tensor narrow = ops::full({2, 2}, 32, DType::Int8);  // 20000 modulo 256
  check_same(ops::dot(a, a), narrow);
  check_same(ops::tensordot(a, a, 1), narrow);
  check_same(ops::inner(a, a), narrow);
  check_same(ops::vdot(a[0], a[0]), ops::full({}, 32, DType::Int8));
  const Tensor bytes = ops::cast(a, DType::UInt8);
  check_same(ops::matmul(bytes, bytes), ops::cast(narrow, DType::UInt8));
  check_same(ops::einsum("ij->i", {bytes}), ops::full({2}, 200, DType::UInt8));
  CHECK(ops::matmul(a, ops::cast(a, DType::Int64)).dtype() == DType::Int64);
}

TEST_CASE("matmul: the gradient of a shared matrix is one product") {
  const std::vector<TensorType> types = {{DType::Float32, {8, 5, 3}}, {DType::Float32, {3, 4}}};
  const TracedGraph traced = trace(types, [](const Inputs& in) {
    GradientTape tape;
    tape.watch(in[1]);
    return std::vector<Tensor>{tape.gradient(ops::matmul(in[0], in[1]), in[1])};
  });
  int64_t products = 0;
  for (const Node& node : traced.graph.nodes) {
    CHECK_FALSE(node.is("transpose"));
    CHECK_FALSE(node.is("reduce_sum"));
    products += node.is("matmul");
  }
  CHECK(products == 2);
}

// ---- convolutions ----

struct ConvCase {
  Shape x, kernel;
  ops::ConvOptions options;
  Shape out;
  Ints before;  // padding before each spatial axis
  Ints strides, dilation;
};

std::vector<double> plain_conv(const Tensor& x, const Tensor& kernel, const ConvCase& c,
                               int64_t groups) {
  const auto vx = to_doubles(x);
  const auto vk = to_doubles(kernel);
  const int64_t axes = x.rank() - 2;
  const int64_t of_group = c.out.back() / groups;
  std::vector<double> result;
  for (const auto& index : indices_of(c.out)) {
    const int64_t group = index.back() / of_group;
    double total = 0;
    for (const auto& at : indices_of(kernel.shape().slice(0, axes + 1))) {
      Ints from = {index[0]};
      bool inside = true;
      for (int64_t i = 0; i < axes; ++i) {
        const auto s = static_cast<size_t>(i);
        from.push_back(index[s + 1] * c.strides[s] + at[s] * c.dilation[s] - c.before[s]);
        inside = inside && from.back() >= 0 && from.back() < x.shape()[i + 1];
      }
      if (!inside) continue;
      from.push_back(group * kernel.shape()[axes] + at.back());
      Ints weight = at;
      weight.push_back(index.back());
      total += vx[offset_of(x.shape(), from)] * vk[offset_of(kernel.shape(), weight)];
    }
    result.push_back(total);
  }
  return result;
}

TEST_CASE("conv: 1 to 3 axes, strides, padding, dilation, groups") {
  const ConvCase cases[] = {
      {{2, 5, 3}, {2, 3, 4}, {}, {2, 4, 4}, {0}, {1}, {1}},
      {{2, 5, 2}, {3, 2, 2}, {.padding = "same"}, {2, 5, 2}, {1}, {1}, {1}},
      {{1, 6, 5, 2},
       {3, 2, 2, 3},
       {.strides = 2, .padding = "same"},
       {1, 3, 3, 3},
       {0, 0},
       {2, 2},
       {1, 1}},
      {{1, 5, 5, 1}, {2, 2, 1, 2}, {.dilation_rate = 2}, {1, 3, 3, 2}, {0, 0}, {1, 1}, {2, 2}},
      {{1, 4, 4, 4}, {2, 2, 2, 4}, {.strides = {1, 2}}, {1, 3, 2, 4}, {0, 0}, {1, 2}, {1, 1}},
      {{1, 3, 3, 2},
       {2, 2, 2, 1},
       {.padding = Padding({{1, 0}, {2, 1}})},
       {1, 3, 5, 1},
       {1, 2},
       {1, 1},
       {1, 1}},
      {{1, 3, 3, 3, 2}, {2, 2, 2, 2, 2}, {}, {1, 2, 2, 2, 2}, {0, 0, 0}, {1, 1, 1}, {1, 1, 1}},
      {{0, 4, 4, 2}, {2, 2, 2, 3}, {}, {0, 3, 3, 3}, {0, 0}, {1, 1}, {1, 1}},
      {{2, 0, 4, 2}, {3, 3, 2, 3}, {.padding = "same"}, {2, 0, 4, 3}, {1, 1}, {1, 1}, {1, 1}},
      {{2, 0, 2}, {5, 2, 3}, {.strides = 2, .padding = "same"}, {2, 0, 3}, {1}, {2}, {1}},
  };
  for (const ConvCase& c : cases) {
    INFO(c.x.to_string() << " with " << c.kernel.to_string());
    const Tensor x = random_tensor(c.x, -1, 1, 1);
    const Tensor kernel = random_tensor(c.kernel, -1, 1, 2);
    const int64_t groups = c.x.back() / c.kernel[c.kernel.rank() - 2];
    check_op([&](const Inputs& in) { return ops::conv(in[0], in[1], c.options); }, {x, kernel},
             c.out, plain_conv(x, kernel, c, groups));
  }
}

TEST_CASE("depthwise_conv and separable_conv") {
  const ConvCase c = {{1, 4, 4, 3}, {2, 2, 1, 6}, {}, {1, 3, 3, 6}, {0, 0}, {1, 1}, {1, 1}};
  const Tensor x = random_tensor(c.x, -1, 1, 1);
  const Tensor kernel = random_tensor({2, 2, 3, 2}, -1, 1, 2);
  const auto expected = plain_conv(x, ops::reshape(kernel, c.kernel), c, 3);
  check_op([](const Inputs& in) { return ops::depthwise_conv(in[0], in[1]); }, {x, kernel}, c.out,
           expected);
  const Tensor pointwise = random_tensor({1, 1, 6, 2}, -1, 1, 3);
  const ConvCase last = {c.out, {1, 1, 6, 2}, {}, {1, 3, 3, 2}, {0, 0}, {1, 1}, {1, 1}};
  check_op([](const Inputs& in) { return ops::separable_conv(in[0], in[1], in[2]); },
           {x, kernel, pointwise}, last.out,
           plain_conv(Tensor::from(expected, c.out), pointwise, last, 1));
}

// Scatters each input element over the output, as in the transpose of a convolution.
std::vector<double> plain_conv_transpose(const Tensor& x, const Tensor& kernel, const Shape& out,
                                         int64_t stride, int64_t before) {
  std::vector<double> result(static_cast<size_t>(out.num_elements()), 0.0);
  for (const auto& p : indices_of(x.shape())) {
    for (const auto& k : indices_of(kernel.shape())) {
      if (k[3] != p[3]) continue;
      const int64_t row = p[1] * stride + k[0] - before;
      const int64_t column = p[2] * stride + k[1] - before;
      if (row < 0 || column < 0 || row >= out[1] || column >= out[2]) continue;
      result[offset_of(out, {p[0], row, column, k[2]})] +=
          to_doubles(x)[offset_of(x.shape(), p)] * to_doubles(kernel)[offset_of(kernel.shape(), k)];
    }
  }
  return result;
}

TEST_CASE("conv_transpose: Keras's sizes") {
  struct Case {
    int64_t kernel, stride;
    ops::ConvTransposeOptions options;
    int64_t size, before;
  };
  const Case cases[] = {{3, 1, {}, 5, 0},
                        {3, 2, {.strides = 2}, 7, 0},
                        {2, 3, {.strides = 3}, 9, 0},
                        {3, 2, {.strides = 2, .padding = "same"}, 6, 0},
                        {3, 1, {.padding = "same"}, 3, 1},
                        {3, 2, {.strides = 2, .output_padding = 1}, 8, 0},
                        {3, 2, {.strides = 2, .padding = "same", .output_padding = 0}, 5, 1},
                        {4, 2, {.strides = 2, .padding = "same", .output_padding = {1, 1}}, 5, 1}};
  for (const Case& c : cases) {
    INFO("kernel " << c.kernel << ", stride " << c.stride << ", size " << c.size);
    const Tensor x = random_tensor({1, 3, 3, 2}, -1, 1, 1);
    const Tensor kernel = random_tensor({c.kernel, c.kernel, 3, 2}, -1, 1, 2);
    const Shape out = {1, c.size, c.size, 3};
    check_op([&](const Inputs& in) { return ops::conv_transpose(in[0], in[1], c.options); },
             {x, kernel}, out, plain_conv_transpose(x, kernel, out, c.stride, c.before));
  }
}

// ---- pooling ----

struct PoolCase {
  Shape x;
  Sizes pool_size;
  ops::PoolOptions options;
  Shape out;
  Ints window, strides, before;
};

const PoolCase kPoolCases[] = {
    {{2, 6, 3}, 2, {}, {2, 3, 3}, {2}, {2}, {0}},
    {{2, 5, 4, 2}, {2, 2}, {}, {2, 2, 2, 2}, {2, 2}, {2, 2}, {0, 0}},
    {{1, 5, 5, 2}, 3, {.strides = 2, .padding = "same"}, {1, 3, 3, 2}, {3, 3}, {2, 2}, {1, 1}},
    {{1, 5, 5, 1}, 3, {.strides = 1}, {1, 3, 3, 1}, {3, 3}, {1, 1}, {0, 0}},
    {{1, 4, 3, 4, 2}, 2, {.strides = {2, 1, 2}}, {1, 2, 2, 2, 2}, {2, 2, 2}, {2, 1, 2}, {0, 0, 0}},
    {{0, 4, 4, 2}, 2, {}, {0, 2, 2, 2}, {2, 2}, {2, 2}, {0, 0}},
    {{2, 4, 0, 3}, 2, {.padding = "same"}, {2, 2, 0, 3}, {2, 2}, {2, 2}, {0, 0}},
    {{2, 0, 3}, 3, {.strides = 1, .padding = "same"}, {2, 0, 3}, {3}, {1}, {1}},
};

std::vector<double> plain_pool(const Tensor& x, const PoolCase& c, bool largest) {
  const auto values = to_doubles(x);
  std::vector<double> result;
  for (const auto& index : indices_of(c.out)) {
    double total = largest ? -std::numeric_limits<double>::infinity() : 0;
    int64_t count = 0;
    for (const auto& at : indices_of(Shape(c.window))) {
      Ints from = index;
      bool inside = true;
      for (size_t i = 0; i < c.window.size(); ++i) {
        from[i + 1] = index[i + 1] * c.strides[i] + at[i] - c.before[i];
        const int64_t size = x.shape()[static_cast<int64_t>(i) + 1];
        inside = inside && from[i + 1] >= 0 && from[i + 1] < size;
      }
      if (!inside) continue;
      const double value = values[offset_of(x.shape(), from)];
      total = largest ? std::max(total, value) : total + value;
      ++count;
    }
    result.push_back(largest ? total : total / static_cast<double>(count));
  }
  return result;
}

TEST_CASE("max_pool and average_pool: value, gradient, second-order gradient") {
  for (const PoolCase& c : kPoolCases) {
    INFO("pooling " << c.x.to_string());
    const Tensor x = random_tensor(c.x, -2, 2, 4);
    check_op([&](const Inputs& in) { return ops::max_pool(in[0], c.pool_size, c.options); }, {x},
             c.out, plain_pool(x, c, true));
    check_op([&](const Inputs& in) { return ops::average_pool(in[0], c.pool_size, c.options); },
             {x}, c.out, plain_pool(x, c, false));
    // Second-order gradients, through the op before it.
    check_gradients(
        [&](const Inputs& in) {
          return ops::max_pool(ops::square(in[0]) * in[0], c.pool_size, c.options);
        },
        {x});
  }
}

// Adaptive pooling by definition, over two spatial axes.
std::vector<double> plain_adaptive_pool(const Tensor& x, const Shape& out, bool largest) {
  const std::vector<double> values = to_doubles(x);
  const auto window = [&](int64_t i, int64_t axis) {
    const int64_t size = x.dim(axis), count = out[axis];
    return std::pair(i * size / count, ((i + 1) * size + count - 1) / count);
  };
  std::vector<double> result;
  for (const auto& at : indices_of(out)) {
    const auto rows = window(at[1], 1), columns = window(at[2], 2);
    double total = largest ? -std::numeric_limits<double>::infinity() : 0;
    for (int64_t row = rows.first; row < rows.second; ++row) {
      for (int64_t column = columns.first; column < columns.second; ++column) {
        const double value = values[offset_of(x.shape(), {at[0], row, column, at[3]})];
        total = largest ? std::max(total, value) : total + value;
      }
    }
    const auto count = (rows.second - rows.first) * (columns.second - columns.first);
    result.push_back(largest ? total : total / static_cast<double>(count));
  }
  return result;
}

TEST_CASE("adaptive pooling: value, gradient, second-order gradient") {
  struct Case {
    Shape x;
    std::vector<int64_t> output_size;
  };
  for (const Case& c : std::vector<Case>{{{2, 4, 6, 2}, {2, 3}},
                                         {{2, 5, 7, 2}, {3, 2}},
                                         {{1, 3, 2, 2}, {5, 2}},
                                         {{1, 1, 4, 1}, {3, 4}},
                                         {{1, 7, 3, 1}, {1, 3}}}) {
    INFO("pooling " << c.x.to_string() << " into " << Shape(c.output_size).to_string());
    const Tensor x = random_tensor(c.x, -2, 2, 4);
    const Shape out = {c.x[0], c.output_size[0], c.output_size[1], c.x[3]};
    check_op([&](const Inputs& in) { return ops::adaptive_max_pool(in[0], c.output_size); }, {x},
             out, plain_adaptive_pool(x, out, true));
    check_op([&](const Inputs& in) { return ops::adaptive_average_pool(in[0], c.output_size); },
             {x}, out, plain_adaptive_pool(x, out, false));
  }
  // Padding of windows has no effect.
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor edge = Tensor::from(std::vector<double>{1, 2, 3, 4, infinity}, {1, 5, 1});
  check_values(ops::adaptive_average_pool(edge, 3), {1, 3, 1}, {1.5, 3, infinity});
  const Tensor integers = Tensor::from(std::vector<int32_t>{1, 2, 3, 4, 6}, {1, 5, 1});
  check_values(ops::adaptive_average_pool(integers, 3), {1, 3, 1}, {1.5, 3, 5});
  CHECK(message_of([] {
          ops::adaptive_max_pool(ops::ones({1, 2, 2, 1}), {1, 2, 3});
        }).find("adaptive_max_pool") == 0);
  CHECK(message_of([] {
          ops::adaptive_average_pool(ops::ones({1, 0, 1}), 2);
        }) == "adaptive_average_pool: expected known spatial axes with elements, got (1, 0, 1).");
}

TEST_CASE("relu keeps NaN where it is part of a product or a convolution") {
  const auto check_rows = [](const Tensor& y) {  // the first half belongs to the example with NaN
    const std::vector<double> values = to_doubles(y);
    for (size_t i = 0; i < values.size(); ++i) {
      CHECK(std::isnan(values[i]) == (2 * i < values.size()));
    }
  };
  const auto with_nan = [](const Shape& shape) {
    Ints examples(static_cast<size_t>(shape.rank()), 1);
    examples[0] = 2;
    const Tensor nan = ops::full({1}, std::numeric_limits<float>::quiet_NaN());
    const Tensor factors = ops::concatenate({nan, ops::ones({1})}, 0);
    return ops::ones(shape) * ops::reshape(factors, Shape(examples));
  };
  const Tensor bias = ops::ones({16});
  const Function product = function([&](const Tensor& x) {
    return ops::relu(ops::matmul(x, ops::ones({8, 16})) + bias);
  });
  check_rows(product(with_nan({2, 8})).single());
  const Function conv = function([&](const Tensor& x) {
    return ops::relu(ops::conv(x, ops::ones({3, 3, 8, 16}), {.padding = "same"}) + bias);
  });
  check_rows(conv(with_nan({2, 6, 6, 8})).single());
}

TEST_CASE("max_pool: the gradient goes to the first of equal maxima") {
  const Tensor x = ops::ones({1, 2, 2, 1}, DType::Float64);
  GradientTape tape;
  tape.watch(x);
  check_values(tape.gradient(ops::max_pool(x, 2), x), {1, 2, 2, 1}, {1, 0, 0, 0});
}

}  // namespace
}  // namespace cornu::testing
