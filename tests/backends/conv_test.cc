// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>

#include "tests/backends/instruction_sets.h"
#include "tests/backends/kernel_run.h"
#include "tests/support/sanitized.h"

namespace cornu::cpu::testing {
namespace {

const KernelRunner& kernels() {
  static const KernelRunner runner(register_conv_kernels);
  return runner;
}

using Ints = std::vector<int64_t>;

struct Case {
  int64_t batch;
  Ints in;
  int64_t c_in;
  int64_t c_out;
  Ints taps;
  Ints strides = {};
  Ints padding = {};  // low, high for each axis
  Ints dilation = {};
  int64_t groups = 1;

  // Fills in the defaults of what was left out.
  Case complete() const {
    Case c = *this;
    if (c.strides.empty()) c.strides.assign(in.size(), 1);
    if (c.dilation.empty()) c.dilation.assign(in.size(), 1);
    if (c.padding.empty()) c.padding.assign(2 * in.size(), 0);
    return c;
  }
  Ints out() const {
    Ints result;
    for (size_t i = 0; i < in.size(); ++i) {
      const int64_t reach = (taps[i] - 1) * dilation[i] + 1;
      const int64_t room = in[i] + padding[2 * i] + padding[2 * i + 1] - reach;
      result.push_back(room < 0 ? 0 : room / strides[i] + 1);
    }
    return result;
  }
  Shape x_shape() const { return shape(batch, in, c_in); }
  Shape y_shape() const { return shape(batch, out(), c_out); }
  Shape filter_shape() const {
    Ints dims = taps;
    dims.push_back(c_in / groups);
    dims.push_back(c_out);
    return Shape(dims);
  }
  Attributes attributes() const {
    return {{"strides", strides}, {"padding", padding}, {"dilation", dilation}, {"groups", groups}};
  }

 private:
  static Shape shape(int64_t first, const Ints& middle, int64_t last) {
    Ints dims = {first};
    dims.insert(dims.end(), middle.begin(), middle.end());
    dims.push_back(last);
    return Shape(dims);
  }
};

int64_t product(const Ints& values) {
  int64_t result = 1;
  for (int64_t v : values) result *= v;
  return result;
}

Ints unravel(int64_t index, const Ints& sizes) {
  Ints result(sizes.size());
  for (size_t i = sizes.size(); i-- > 0; index /= sizes[i]) result[i] = index % sizes[i];
  return result;
}

// Calls `visit(x element, filter element, y element)` for every product of the convolution.
template <class Visit>
void each_product(const Case& c, Visit visit) {
  const Ints out = c.out();
  const int64_t in_channels = c.c_in / c.groups;
  const int64_t out_channels = c.c_out / c.groups;
  for (int64_t n = 0; n < c.batch; ++n) {
    for (int64_t o = 0; o < product(out); ++o) {
      for (int64_t t = 0; t < product(c.taps); ++t) {
        const Ints at = unravel(o, out);
        const Ints tap = unravel(t, c.taps);
        int64_t position = 0;
        bool inside = true;
        for (size_t i = 0; i < out.size(); ++i) {
          const int64_t p = at[i] * c.strides[i] + tap[i] * c.dilation[i] - c.padding[2 * i];
          inside = inside && p >= 0 && p < c.in[i];
          position = position * c.in[i] + p;
        }
        if (!inside) continue;
        for (int64_t channel = 0; channel < c.c_out; ++channel) {
          const int64_t group = channel / out_channels;
          for (int64_t i = 0; i < in_channels; ++i) {
            visit(static_cast<size_t>((n * product(c.in) + position) * c.c_in +
                                      group * in_channels + i),
                  static_cast<size_t>((t * in_channels + i) * c.c_out + channel),
                  static_cast<size_t>((n * product(out) + o) * c.c_out + channel));
          }
        }
      }
    }
  }
}

// Winograd's method, which the kernels may choose for float32 and 3 x 3 taps, loses most of a
// digit.
enum class Method { Direct, Winograd };

double tolerance(DType dtype, int64_t terms, Method method = Method::Direct) {
  const double spread = std::sqrt(static_cast<double>(std::max<int64_t>(1, terms)));
  switch (dtype) {
    case DType::Float64:
      return 1e-14 * spread;
    case DType::Float32:
      return (method == Method::Direct ? 2e-6 : 1e-5) * spread;
    case DType::Float16:
      return 1e-3 * spread;
    case DType::BFloat16:
      return 8e-3 * spread;
    default:
      return 0;
  }
}

void check_conv(const Case& given, DType dtype = DType::Float32, Method method = Method::Direct) {
  const Case c = given.complete();
  CAPTURE(text(c.x_shape()));
  CAPTURE(text(c.filter_shape()));
  CAPTURE(text(Shape(c.strides)));
  CAPTURE(text(Shape(c.padding)));
  CAPTURE(text(Shape(c.dilation)));
  CAPTURE(text(c.groups));
  CAPTURE(text(dtype));
  const Tensor x = random_tensor(c.x_shape(), dtype, 1);
  const Tensor filter = random_tensor(c.filter_shape(), dtype, 2);
  const Tensor dy = random_tensor(c.y_shape(), dtype, 3);
  const auto xs = values_of(x);
  const auto ws = values_of(filter);
  const auto dys = values_of(dy);
  std::vector<double> y(dys.size());
  std::vector<double> dx(xs.size());
  std::vector<double> dw(ws.size());
  each_product(c, [&](size_t i, size_t j, size_t k) {
    y[k] += xs[i] * ws[j];
    dx[i] += dys[k] * ws[j];
    dw[j] += dys[k] * xs[i];
  });
  const int64_t taps = product(c.taps);
  check_close(kernels().run("conv", {x, filter}, c.attributes(), {{dtype, c.y_shape()}})[0], y,
              tolerance(dtype, taps * c.c_in / c.groups, method));
  Attributes input_grad = c.attributes();
  input_grad.set("input_shape", c.x_shape().dims());
  check_close(kernels().run("conv_input_grad", {dy, filter}, input_grad, {{dtype, c.x_shape()}})[0],
              dx, tolerance(dtype, taps * c.c_out / c.groups, method));
  Attributes filter_grad = c.attributes();
  filter_grad.set("filter_shape", c.filter_shape().dims());
  check_close(
      kernels().run("conv_filter_grad", {x, dy}, filter_grad, {{dtype, c.filter_shape()}})[0], dw,
      tolerance(dtype, c.batch * product(c.out()), method));
}

const std::array kFloats = {DType::Float32, DType::Float64};

TEST_CASE("conv in two dimensions: sizes, padding, strides") {
  for (DType dtype : kFloats) {
    check_conv({.batch = 2, .in = {7, 9}, .c_in = 3, .c_out = 5, .taps = {3, 3}}, dtype);
    check_conv({2, {8, 8}, 4, 6, {3, 3}, {}, {1, 1, 1, 1}}, dtype);
    check_conv({2, {8, 7}, 3, 4, {2, 4}, {}, {0, 1, 1, 2}}, dtype);
    check_conv({2, {9, 9}, 3, 8, {3, 3}, {2, 2}, {0, 1, 1, 1}}, dtype);
    check_conv({2, {11, 10}, 3, 4, {3, 2}, {3, 2}, {}}, dtype);
    check_conv({3, {5, 6}, 7, 9, {1, 1}}, dtype);
    check_conv({3, {6, 6}, 4, 8, {1, 1}, {2, 2}}, dtype);
    check_conv({2, {5, 5}, 3, 4, {5, 5}}, dtype);
    check_conv({1, {4, 4}, 2, 3, {7, 7}, {}, {3, 3, 3, 3}}, dtype);
  }
}

TEST_CASE("conv with dilation") {
  for (DType dtype : kFloats) {
    check_conv({2, {9, 9}, 3, 4, {3, 3}, {}, {}, {2, 2}}, dtype);
    check_conv({2, {10, 9}, 4, 4, {3, 2}, {}, {2, 2, 1, 1}, {2, 3}}, dtype);
  }
}

TEST_CASE("conv whose filter or stride reaches far beyond the input") {
  constexpr int64_t kFar = int64_t{1} << 31;
  for (DType dtype : {DType::Float32, DType::BFloat16}) {
    check_conv({2, {9}, 3, 4, {5}, {}, {2 * kFar, 2 * kFar}, {kFar}}, dtype);
    check_conv({2, {9, 8}, 3, 4, {3, 3}, {2 * kFar, 2}}, dtype);
    check_conv({2, {9, 8}, 3, 4, {3, 3}, {}, {5000, 5000, 1, 1}, {5000, 1}}, dtype);
  }
}

TEST_CASE("conv with groups, and depthwise") {
  for (DType dtype : kFloats) {
    check_conv({2, {6, 7}, 6, 4, {3, 3}, {}, {1, 1, 1, 1}, {}, 2}, dtype);
    check_conv({2, {6, 7}, 32, 64, {3, 3}, {}, {1, 1, 1, 1}, {}, 2}, dtype);
    check_conv({2, {6, 7}, 5, 5, {3, 3}, {}, {1, 1, 1, 1}, {}, 5}, dtype);
    check_conv({2, {9, 8}, 24, 24, {3, 3}, {2, 2}, {0, 1, 0, 1}, {}, 24}, dtype);
    check_conv({2, {6, 6}, 4, 12, {3, 3}, {}, {}, {}, 4}, dtype);  // channel multiplier 3
  }
}

TEST_CASE("conv of depthwise filters along one axis") {
  check_conv({2, {40}, 32, 32, {3}, {}, {1, 1}, {}, 32});
  check_conv({2, {41}, 17, 17, {4}, {2}, {2, 1}, {}, 17});
  check_conv({3, {30}, 16, 16, {3}, {}, {4, 0}, {2}, 16});
  check_conv({1, {25}, 8, 24, {5}, {}, {2, 2}, {}, 8});
  check_conv({2, {3}, 16, 16, {5}, {}, {2, 2}, {}, 16});
}

TEST_CASE("conv of depthwise filters that are large, or meet few positions") {
  for (int threads : {1, 3}) {
    const ComputeThreadsScope scope(threads);
    check_conv({3, {8, 7}, 40, 40, {5, 5}, {}, {2, 2, 2, 2}, {}, 40});
    check_conv({2, {9, 8}, 67, 67, {5, 4}, {2, 3}, {1, 2, 0, 1}, {1, 2}, 67});
    check_conv({5, {2, 2}, 130, 130, {3, 3}, {}, {1, 1, 1, 1}, {}, 130});
    check_conv({2, {1, 3}, 17, 17, {5, 5}, {}, {2, 2, 2, 2}, {}, 17});
    check_conv({1, {40, 52}, 16, 16, {4, 4}, {}, {1, 2, 2, 1}, {}, 16});  // many outputs
    check_conv({3, {9, 9}, 1, 1, {5, 5}, {}, {2, 2, 2, 2}});
    check_conv({2, {30}, 20, 20, {11}, {}, {10, 0}, {}, 20});
    check_conv({2, {4, 5, 3}, 18, 18, {3, 3, 3}, {1, 2, 1}, {1, 1, 0, 1, 1, 1}, {}, 18});
  }
}

TEST_CASE("conv in one and three dimensions") {
  for (DType dtype : kFloats) {
    check_conv({2, {13}, 3, 5, {4}, {2}, {1, 2}}, dtype);
    check_conv({2, {13}, 16, 16, {3}, {}, {2, 0}}, dtype);  // causal
    check_conv({2, {12}, 3, 6, {3}, {}, {}, {2}, 3}, dtype);
    check_conv({2, {5, 6, 4}, 3, 4, {3, 3, 3}, {}, {1, 1, 1, 1, 1, 1}}, dtype);
    check_conv({1, {5, 6, 7}, 4, 4, {2, 3, 2}, {2, 1, 2}, {}, {}, 2}, dtype);
  }
}

TEST_CASE("conv of the sizes that models train with") {
  check_conv({4, {28, 28}, 1, 32, {3, 3}});
  check_conv({4, {16, 16}, 3, 32, {3, 3}, {}, {1, 1, 1, 1}});
  check_conv({4, {16, 16}, 32, 32, {3, 3}});
  check_conv({4, {15, 15}, 32, 64, {3, 3}, {}, {1, 1, 1, 1}});
  check_conv({8, {7, 7}, 64, 64, {3, 3}});
  check_conv({2, {12, 12}, 3, 64, {7, 7}, {2, 2}, {3, 3, 3, 3}});
  check_conv({2, {8, 8}, 64, 128, {1, 1}, {2, 2}});
}

TEST_CASE("conv of batches that are shared out to threads") {
  for (int threads : {1, 2, 3}) {
    if (cornu::testing::kSanitized && threads != 3) continue;
    const ComputeThreadsScope scope(threads);
    check_conv({32, {12, 13}, 32, 32, {3, 3}, {}, {1, 1, 1, 1}}, DType::Float32, Method::Winograd);
    check_conv({21, {14, 14}, 32, 48, {3, 3}, {}, {}}, DType::Float32, Method::Winograd);
    check_conv({13, {9, 9}, 16, 24, {3, 3}, {2, 2}, {0, 1, 0, 1}});
    check_conv({40, {20, 20}, 24, 24, {3, 3}, {}, {1, 1, 1, 1}, {}, 24});
  }
}

TEST_CASE("conv of one to four input channels, whose inputs are gathered") {
  check_conv({2, {700}, 1, 5, {90}, {}, {45, 44}});  // several chunks of an image
  check_conv({1, {250}, 1, 16, {80}, {2}, {25, 0}});
  check_conv({2, {250}, 1, 16, {80}});              // not gathered without padding
  check_conv({3, {90}, 1, 3, {80}, {}, {79, 79}});  // most positions reach into the padding
  check_conv({5, {9, 100}, 1, 20, {3, 64}, {2, 3}, {1, 0, 12, 30}});
  for (const int64_t channels : {1, 2, 3, 4, 5}) {
    check_conv({4, {16, 15}, channels, 24, {5, 5}, {2, 2}, {2, 1, 1, 2}});
    check_conv({3, {9, 8}, channels, 27, {2, 3}, {}, {0, 1, 3, 2}});
  }
  check_conv({2, {5, 6, 7}, 2, 26, {3, 2, 3}, {1, 2, 1}, {1, 1, 0, 1, 1, 1}});
  check_conv({4, {20, 20}, 2, 25, {3, 3}, {3, 2}, {5, 4, 0, 0}});  // rows of padding alone
}

TEST_CASE("input gradients by the flipped filter") {
  check_conv({8, {16, 17}, 32, 48, {5, 5}, {}, {2, 2, 2, 2}});
  check_conv({9, {16, 16}, 48, 32, {4, 3}, {}, {0, 3, 2, 0}});
  check_conv({8, {17, 16}, 32, 32, {3, 1}, {}, {2, 0, 0, 0}});
  check_conv({8, {17, 16}, 32, 32, {2, 2}, {}, {1, 0, 0, 1}});
  check_conv({8, {16, 16}, 64, 32, {1, 1}});
}

// Where blocks of outputs begin at the first one that reaches beyond the image, a kernel of oneDNN
// 2.6 reads memory that it didn't write.
TEST_CASE("conv of filters that reach far beyond the end") {
  check_conv({1, {9}, 32, 64, {11}, {}, {4, 4}});
  check_conv({8, {7}, 4, 64, {5}, {}, {0, 4}});
  check_conv({8, {9}, 4, 64, {11}, {}, {5, 5}});
  check_conv({300, {7}, 64, 4, {5}, {}, {4, 0}});
  check_conv({8, {5, 15}, 32, 16, {1, 9}, {}, {0, 0, 8, 0}}, DType::BFloat16);
  check_conv({8, {5, 15}, 16, 32, {1, 9}, {}, {0, 0, 0, 8}}, DType::BFloat16);
  check_conv({1, {8, 20}, 64, 32, {3, 12}, {}, {0, 0, 0, 10}});
  check_conv({1, {3, 23}, 32, 64, {2, 13}, {}, {0, 0, 5, 5}, {1, 2}});
  for (const int64_t width : {7, 9, 11, 17, 19, 21}) {
    for (int64_t reach = 3; reach < width; ++reach) {
      check_conv({1, {width}, 8, 64, {reach + 1}, {}, {0, reach}});
    }
  }
}

TEST_CASE("conv of few positions and large filters") {
  check_conv({3, {2, 2}, 96, 80, {3, 3}, {}, {1, 1, 1, 1}});
  check_conv({2, {5, 4}, 50, 161, {3, 3}, {2, 1}, {0, 1, 2, 0}});
  check_conv({1, {7, 7}, 33, 224, {3, 3}, {}, {2, 2, 2, 2}, {2, 2}});
  check_conv({4, {9}, 70, 130, {9}});
  check_conv({2, {3, 2, 3}, 40, 70, {3, 2, 3}, {1, 1, 2}, {1, 1, 0, 0, 1, 1}});
}

TEST_CASE("conv of 16-bit floats") {
  for (DType dtype : {DType::BFloat16, DType::Float16}) {
    check_conv({2, {6, 6}, 16, 32, {3, 3}, {}, {1, 1, 1, 1}}, dtype);
    check_conv({2, {6, 6}, 3, 5, {3, 3}, {2, 2}}, dtype);
    check_conv({2, {6, 6}, 8, 8, {3, 3}, {}, {}, {}, 8}, dtype);
    // Many output channels relative to the image's width.
    check_conv({5, {4, 5}, 16, 48, {3, 3}, {}, {1, 1, 1, 1}}, dtype);
    check_conv({3, {7, 6}, 5, 33, {3, 2}, {2, 1}, {0, 1, 1, 0}}, dtype);
    check_conv({2, {9}, 7, 64, {4}, {}, {}, {2}}, dtype);
  }
}

TEST_CASE("conv of integers") { check_conv({2, {6, 5}, 3, 4, {3, 3}}, DType::Int32); }

TEST_CASE("conv of nothing") {
  for (DType dtype : kFloats) {
    check_conv({0, {6, 6}, 3, 4, {3, 3}}, dtype);
    check_conv({2, {2, 6}, 3, 4, {3, 3}}, dtype);  // the filter is larger than the image
  }
}

TEST_CASE("conv_bias_act adds a bias and rectifies") {
  const std::vector<Case> cases = {{2, {7, 9}, 3, 5, {3, 3}},
                                   {2, {9, 9}, 16, 32, {3, 3}, {}, {1, 1, 1, 1}},
                                   {4, {16, 16}, 32, 32, {3, 3}},
                                   {2, {8, 8}, 16, 48, {1, 1}, {2, 2}},
                                   {2, {9}, 3, 8, {3}},
                                   {2, {300}, 1, 8, {80}, {}, {79, 0}},
                                   {2, {5, 4}, 0, 3, {3, 3}},  // empty sums
                                   {2, {6, 6}, 8, 8, {3, 3}, {}, {}, {}, 8},
                                   {2, {9, 8}, 3, 4, {3, 3}, {int64_t{1} << 32, 2}}};
  for (const Case& given : cases) {
    for (const char* activation : {"", "relu", "relu6"}) {
      for (DType dtype : {DType::Float32, DType::BFloat16}) {
        const Case c = given.complete();
        CAPTURE(text(c.x_shape()));
        CAPTURE(text(c.filter_shape()));
        CAPTURE(text(activation));
        CAPTURE(text(dtype));
        const Tensor x = random_tensor(c.x_shape(), dtype, 1);
        const Tensor filter = random_tensor(c.filter_shape(), dtype, 2);
        const Tensor bias = random_tensor({c.c_out}, dtype, 3);
        const auto xs = values_of(x);
        const auto ws = values_of(filter);
        const auto bs = values_of(bias);
        std::vector<double> y(static_cast<size_t>(c.y_shape().num_elements()));
        each_product(c, [&](size_t i, size_t j, size_t k) { y[k] += xs[i] * ws[j]; });
        for (size_t i = 0; i < y.size(); ++i) {
          y[i] += bs[i % bs.size()];
          if (*activation) y[i] = std::max(y[i], 0.0);
          if (activation == std::string("relu6")) y[i] = std::min(y[i], 6.0);
        }
        Attributes attributes = c.attributes();
        attributes.set("activation", std::string(activation));
        const Tensor result = kernels().run("conv_bias_act", {x, filter, bias}, attributes,
                                            {{dtype, c.y_shape()}})[0];
        check_close(result, y, tolerance(dtype, product(c.taps) * c.c_in / c.groups));
      }
    }
  }
}

// conv_pool of images (batch, height, width) with square filters and windows.
struct PoolCase {
  Case conv;
  int64_t window;
  std::string activation;

  Shape y_shape() const {
    const Ints out = conv.complete().out();
    return {conv.batch, out[0] / window, out[1] / window, conv.c_out};
  }
  Attributes attributes() const {
    Attributes result = conv.complete().attributes();
    result.set("activation", activation);
    result.set("window", Ints{window, window});
    result.set("pool_strides", Ints{window, window});
    result.set("pool_padding", Ints{0, 0, 0, 0});
    return result;
  }
};

const std::vector<PoolCase>& pool_cases() {
  static const std::vector<PoolCase> cases = {
      {{3, {28, 28}, 1, 32, {3, 3}}, 2, "relu"}, {{2, {9, 8}, 1, 16, {3, 3}}, 2, ""},
      {{2, {7, 10}, 1, 19, {3, 3}}, 2, "relu"},  {{17, {6, 6}, 1, 8, {3, 3}}, 2, ""},
      {{2, {12, 11}, 1, 33, {5, 5}}, 2, "relu"}, {{2, {4, 4}, 1, 3, {3, 3}}, 2, ""},
      {{0, {6, 6}, 1, 4, {3, 3}}, 2, ""}};
  return cases;
}

void check_conv_pool(DType dtype, double tolerance) {
  for (const PoolCase& p : pool_cases()) {
    const Case c = p.conv.complete();
    CAPTURE(to_string(dtype));
    CAPTURE(text(c.x_shape()));
    CAPTURE(text(c.filter_shape()));
    // Multiples of 1/4: sums are exact, and windows have several equal maxima.
    auto coarse = [dtype](const Shape& shape, uint64_t seed) {
      auto values = values_of(random_tensor(shape, DType::Float64, seed));
      for (double& value : values) value = std::floor(value * 4) / 4;
      return tensor_of(values, shape, dtype);
    };
    const Tensor x = coarse(c.x_shape(), 1);
    const Tensor filter = coarse(c.filter_shape(), 2);
    const Tensor bias = coarse({c.c_out}, 3);
    const auto xs = values_of(x);
    const auto ws = values_of(filter);
    std::vector<double> conv(static_cast<size_t>(c.y_shape().num_elements()));
    each_product(c, [&](size_t i, size_t j, size_t k) { conv[k] += xs[i] * ws[j]; });
    const Shape y = p.y_shape();
    std::vector<double> expected;
    std::vector<double> numbers;
    std::vector<double> bias_grad(static_cast<size_t>(c.c_out));
    std::vector<double> conv_grad(conv.size());
    const Tensor dy = coarse(y, 4);
    const auto dys = values_of(dy);
    const Ints out = c.out();
    for (int64_t element = 0; element < y.num_elements(); ++element) {
      const Ints at = unravel(element, y.dims());
      size_t best = 0;
      int64_t number = -1;
      for (int64_t w = 0; w < p.window * p.window; ++w) {
        const int64_t row = at[1] * p.window + w / p.window;
        const int64_t column = at[2] * p.window + w % p.window;
        const auto k =
            static_cast<size_t>(((at[0] * out[0] + row) * out[1] + column) * c.c_out + at[3]);
        if (number < 0 || conv[k] > conv[best]) {
          best = k;
          number = w;
        }
      }
      const auto channel = static_cast<size_t>(at[3]);
      const double value = conv[best] + values_of(bias)[channel];
      expected.push_back(p.activation == "relu" ? std::max(value, 0.0) : value);
      numbers.push_back(static_cast<double>(number));
      conv_grad[best] += dys[static_cast<size_t>(element)];
      bias_grad[channel] += dys[static_cast<size_t>(element)];
    }
    const TensorType index_type{DType::UInt8, y};
    std::vector<double> filter_grad(ws.size());
    each_product(c, [&](size_t i, size_t j, size_t k) { filter_grad[j] += xs[i] * conv_grad[k]; });
    Attributes attributes = p.attributes();
    attributes.set("filter_shape", c.filter_shape().dims());
    for_each_instruction_set([&] {
      const auto results =
          kernels().run("conv_pool", {x, filter, bias}, attributes, {{dtype, y}, index_type});
      check_close(results[0], expected, tolerance);
      check_close(results[1], numbers, 0);
      const auto gradients = kernels().run("conv_pool_filter_grad", {x, dy, results[1]}, attributes,
                                           {type_of(filter), type_of(bias)});
      check_close(gradients[0], filter_grad, tolerance);
      check_close(gradients[1], bias_grad, tolerance);
      check_thread_independent(kernels(), "conv_pool_filter_grad", {x, dy, results[1]}, attributes,
                               {type_of(filter), type_of(bias)});
    });
  }
}

TEST_CASE("conv_pool is a convolution, bias, max-pooling and relu") {
  check_conv_pool(DType::Float32, 1e-6);
}

// Computed in float32 and rounded once.
TEST_CASE("conv_pool of 16-bit numbers") {
  check_conv_pool(DType::BFloat16, 0x1p-8);
  check_conv_pool(DType::Float16, 0x1p-11);
}

TEST_CASE("conv_pool has no kernel for what it doesn't serve") {
  auto served = [](const PoolCase& p, const char* changed, const AttributeValue& value) {
    const Case c = p.conv.complete();
    Attributes attributes = p.attributes();
    if (changed) attributes.set(changed, value);
    return kernels().make("conv_pool",
                          {random_tensor(c.x_shape(), DType::Float32, 1),
                           random_tensor(c.filter_shape(), DType::Float32, 2),
                           random_tensor({c.c_out}, DType::Float32, 3)},
                          attributes,
                          {{DType::Float32, p.y_shape()}, {DType::UInt8, p.y_shape()}}) != nullptr;
  };
  const PoolCase plain{{2, {8, 8}, 1, 16, {3, 3}}, 2, ""};
  CHECK(served(plain, nullptr, {}));
  CHECK_FALSE(served(plain, "padding", Ints{1, 1, 1, 1}));
  CHECK_FALSE(served(plain, "strides", Ints{2, 2}));
  CHECK_FALSE(served(plain, "pool_strides", Ints{1, 1}));
  CHECK_FALSE(served({{2, {8, 8}, 2, 16, {3, 3}}, 2, ""}, nullptr, {}));
  CHECK_FALSE(served({{2, {8, 8}, 1, 16, {3, 3}}, 3, ""}, nullptr, {}));
  CHECK_FALSE(served({{2, {8, 8}, 1, 16, {2, 2}}, 2, ""}, nullptr, {}));
}

}  // namespace
}  // namespace cornu::cpu::testing
