// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <limits>

#include "tests/backends/instruction_sets.h"
#include "tests/backends/kernel_run.h"

namespace cornu::cpu::testing {
namespace {

const KernelRunner& kernels() {
  static const KernelRunner runner(register_pooling_kernels);
  return runner;
}

using Ints = std::vector<int64_t>;

struct Case {
  int64_t batch;
  Ints in;
  int64_t channels;
  Ints window;
  Ints strides;
  Ints padding;  // low, high for each axis

  Ints out() const {
    Ints result;
    for (size_t i = 0; i < in.size(); ++i) {
      const int64_t room = in[i] + padding[2 * i] + padding[2 * i + 1] - window[i];
      result.push_back(room < 0 ? 0 : room / strides[i] + 1);
    }
    return result;
  }
  Shape x_shape() const { return shape(in); }
  Shape y_shape() const { return shape(out()); }
  Attributes attributes() const {
    return {{"window", window}, {"strides", strides}, {"padding", padding}};
  }

 private:
  Shape shape(const Ints& middle) const {
    Ints dims = {batch};
    dims.insert(dims.end(), middle.begin(), middle.end());
    dims.push_back(channels);
    return Shape(dims);
  }
};

const std::vector<Case>& cases() {
  static const std::vector<Case> result = {
      {2, {6, 8}, 16, {2, 2}, {2, 2}, {0, 0, 0, 0}},
      {2, {7, 5}, 32, {2, 2}, {2, 2}, {0, 0, 0, 0}},  // the rest is dropped
      {2, {7, 5}, 19, {2, 2}, {2, 2}, {0, 1, 0, 1}},  // same padding
      {3, {9, 8}, 5, {3, 3}, {2, 2}, {1, 1, 0, 1}},   // overlapping
      {2, {6, 6}, 17, {3, 2}, {1, 1}, {1, 1, 0, 1}},  // overlapping
      {2, {8, 9}, 33, {2, 2}, {3, 4}, {0, 0, 0, 0}},  // with gaps
      {1, {5, 5}, 4, {5, 5}, {5, 5}, {0, 0, 0, 0}},   // global
      {2, {9}, 3, {3}, {2}, {0, 1}},
      {2, {11}, 18, {2}, {2}, {0, 1}},
      {2, {9}, 18, {2}, {1}, {1, 0}},
      {1, {3}, 17, {5}, {1}, {2, 2}},                 // larger than the input
      {2, {7, 9}, 17, {3, 3}, {1, 2}, {2, 2, 1, 1}},  // some windows are inside
      {2, {6, 6}, 16, {1, 4}, {1, 3}, {0, 0, 3, 3}},  // windows of four positions in a row
      {1, {7, 6, 9}, 17, {3, 2, 3}, {3, 1, 2}, {1, 1, 0, 1, 2, 0}},
      {1, {4, 6, 5}, 18, {2, 2, 2}, {2, 2, 2}, {0, 0, 0, 0, 0, 1}},
      {0, {4, 4}, 3, {2, 2}, {2, 2}, {0, 0, 0, 0}},
      {2, {1, 4}, 3, {2, 2}, {2, 2}, {0, 0, 0, 0}},  // no windows
      {2, {4, 4}, 0, {2, 2}, {2, 2}, {0, 0, 0, 0}},
  };
  return result;
}

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

// The elements of x in a window, by their position in it; -1 in the padding.
std::vector<int64_t> window_elements(const Case& c, int64_t y_element) {
  const int64_t channel = y_element % c.channels;
  const int64_t positions = product(c.out());
  const int64_t n = y_element / c.channels / positions;
  const Ints at = unravel(y_element / c.channels % positions, c.out());
  std::vector<int64_t> result;
  for (int64_t w = 0; w < product(c.window); ++w) {
    const Ints tap = unravel(w, c.window);
    int64_t position = 0;
    bool inside = true;
    for (size_t i = 0; i < at.size(); ++i) {
      const int64_t p = at[i] * c.strides[i] + tap[i] - c.padding[2 * i];
      inside = inside && p >= 0 && p < c.in[i];
      position = position * c.in[i] + p;
    }
    result.push_back(inside ? (n * product(c.in) + position) * c.channels + channel : -1);
  }
  return result;
}

// The window position of the first maximum.
size_t first_maximum(const std::vector<int64_t>& elements, const std::vector<double>& x) {
  size_t best = elements.size();
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i] < 0) continue;
    if (best == elements.size() ||
        x[static_cast<size_t>(elements[i])] > x[static_cast<size_t>(elements[best])]) {
      best = i;
    }
  }
  REQUIRE(best < elements.size());
  return best;
}

struct Expected {
  std::vector<double> y, index, dx, selected, average, average_dx;
};

Expected reference(const Case& c, const std::vector<double>& x, const std::vector<double>& dy,
                   const std::vector<double>& g) {
  Expected e;
  e.dx.resize(x.size());
  e.average_dx.resize(x.size());
  for (size_t i = 0; i < dy.size(); ++i) {
    const auto elements = window_elements(c, static_cast<int64_t>(i));
    const size_t best = first_maximum(elements, x);
    const auto element = static_cast<size_t>(elements[best]);
    e.y.push_back(x[element]);
    e.index.push_back(static_cast<double>(best));
    e.selected.push_back(g[element]);
    e.dx[element] += dy[i];
    double sum = 0;
    double count = 0;
    for (int64_t k : elements) count += k >= 0;
    for (int64_t k : elements) {
      if (k < 0) continue;
      sum += x[static_cast<size_t>(k)];
      e.average_dx[static_cast<size_t>(k)] += dy[i] / count;
    }
    e.average.push_back(sum / count);
  }
  return e;
}

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::Float64:
      return 1e-15;
    case DType::Float32:
      return 1e-6;
    case DType::Float16:
      return 2e-3;
    default:
      return 2e-2;
  }
}

struct Tensors {
  Tensor x, dy, g;
  Expected expected;
};

// Multiples of 1/8, so that windows have several equal maxima.
Tensors make_tensors(const Case& c, DType dtype) {
  auto coarse = [&](const Shape& shape, uint64_t seed) {
    auto values = values_of(random_tensor(shape, DType::Float64, seed));
    for (double& value : values) value = std::floor(value * 8) / 8;
    return tensor_of(values, shape, dtype);
  };
  Tensors t{coarse(c.x_shape(), 1), coarse(c.y_shape(), 2), coarse(c.x_shape(), 3), {}};
  t.expected = reference(c, values_of(t.x), values_of(t.dy), values_of(t.g));
  return t;
}

TEST_CASE("max_pool, its gradient and the transpose of that") {
  for (const Case& c : cases()) {
    for (DType dtype : {DType::Float32, DType::Float64, DType::BFloat16, DType::Float16}) {
      CAPTURE(text(c.x_shape()));
      CAPTURE(text(Shape(c.window)));
      CAPTURE(text(dtype));
      const auto [x, dy, g, expected] = make_tensors(c, dtype);
      const TensorType y_type{dtype, c.y_shape()};
      const Tensor y = kernels().run("max_pool", {x}, c.attributes(), {y_type})[0];
      check_close(y, expected.y, 0);
      check_close(kernels().run("max_pool_grad", {x, y, dy}, c.attributes(), {type_of(x)})[0],
                  expected.dx, tolerance(dtype));
      check_close(kernels().run("max_pool_select", {x, y, g}, c.attributes(), {y_type})[0],
                  expected.selected, 0);
    }
  }
}

TEST_CASE("avg_pool doesn't count the padding") {
  for (const Case& c : cases()) {
    for (DType dtype : {DType::Float32, DType::Float64, DType::BFloat16, DType::Float16}) {
      CAPTURE(text(c.x_shape()));
      CAPTURE(text(Shape(c.window)));
      CAPTURE(text(dtype));
      const auto [x, dy, g, expected] = make_tensors(c, dtype);
      check_close(kernels().run("avg_pool", {x}, c.attributes(), {{dtype, c.y_shape()}})[0],
                  expected.average, tolerance(dtype));
      Attributes attributes = c.attributes();
      attributes.set("input_shape", c.x_shape().dims());
      check_close(kernels().run("avg_pool_grad", {dy}, attributes, {type_of(x)})[0],
                  expected.average_dx, tolerance(dtype));
    }
  }
}

TEST_CASE("max_pool_with_index tells where the maxima are, max_pool_scatter puts gradients there") {
  for (const Case& c : cases()) {
    for (DType dtype : {DType::Float32, DType::BFloat16}) {
      for (const char* activation : {"", "relu"}) {
        CAPTURE(text(c.x_shape()));
        CAPTURE(text(Shape(c.window)));
        CAPTURE(text(activation));
        CAPTURE(text(dtype));
        auto [x, dy, g, expected] = make_tensors(c, dtype);
        if (*activation) {
          for (double& value : expected.y) value = std::max(value, 0.0);
        }
        Attributes attributes = c.attributes();
        attributes.set("activation", std::string(activation));
        const auto results = kernels().run("max_pool_with_index", {x}, attributes,
                                           {{dtype, c.y_shape()}, {DType::UInt8, c.y_shape()}});
        check_close(results[0], expected.y, 0);
        check_close(results[1], expected.index, 0);
        Attributes scatter = c.attributes();
        scatter.set("input_shape", c.x_shape().dims());
        check_close(kernels().run("max_pool_scatter", {dy, results[1]}, scatter, {type_of(x)})[0],
                    expected.dx, tolerance(dtype));
      }
    }
  }
}

TEST_CASE("pooling on every instruction set") {
  for (const Case& c : cases()) {
    CAPTURE(text(c.x_shape()));
    const auto [x, dy, g, expected] = make_tensors(c, DType::Float32);
    Attributes attributes = c.attributes();
    attributes.set("activation", std::string());
    attributes.set("input_shape", c.x_shape().dims());
    const TensorType y_type{DType::Float32, c.y_shape()};
    for_each_instruction_set([&, &x = x, &dy = dy, &expected = expected] {
      const auto results = kernels().run("max_pool_with_index", {x}, attributes,
                                         {y_type, {DType::UInt8, c.y_shape()}});
      check_close(results[0], expected.y, 0);
      check_close(results[1], expected.index, 0);
      check_close(kernels().run("max_pool_scatter", {dy, results[1]}, attributes, {type_of(x)})[0],
                  expected.dx, 1e-6);
      check_close(kernels().run("max_pool", {x}, attributes, {y_type})[0], expected.y, 0);
      check_close(kernels().run("avg_pool", {x}, attributes, {y_type})[0], expected.average, 1e-6);
      check_close(kernels().run("avg_pool_grad", {dy}, attributes, {type_of(x)})[0],
                  expected.average_dx, 1e-6);
    });
  }
}

TEST_CASE("max_pool gives NaN where the window has one") {
  std::vector<float> values(4 * 4 * 16, 1.0f);
  values[3] = std::nanf("");                 // in the first window
  values[(3 * 4 + 3) * 16] = std::nanf("");  // in the last
  const Tensor x = Tensor::from(values, Shape{1, 4, 4, 16});
  const Case c{1, {4, 4}, 16, {2, 2}, {2, 2}, {0, 0, 0, 0}};
  const TensorType type{DType::Float32, c.y_shape()};
  const Tensor y = kernels().run("max_pool", {x}, c.attributes(), {type})[0];
  Attributes attributes = c.attributes();
  attributes.set("activation", std::string("relu"));
  const Tensor z =
      kernels().run("max_pool_with_index", {x}, attributes, {type, {DType::UInt8, c.y_shape()}})[0];
  for (const Tensor& result : {y, z}) {
    const auto data = result.data<float>();
    for (size_t i = 0; i < data.size(); ++i) {
      CHECK(std::isnan(data[i]) == (i == 3 || i == 3 * 16));
    }
  }
}

TEST_CASE("max_pool of integers") {
  const Tensor x = Tensor::from(std::vector<int32_t>{-5, -7, -9, -6}, Shape{1, 2, 2, 1});
  const Case c{1, {2, 2}, 1, {2, 2}, {2, 2}, {0, 0, 0, 0}};
  const Tensor y =
      kernels().run("max_pool", {x}, c.attributes(), {{DType::Int32, {1, 1, 1, 1}}})[0];
  CHECK(y.item<int32_t>() == -5);
}

TEST_CASE("max_pool_with_index has no kernel for windows that a byte can't number") {
  const Case c{1, {17, 17}, 1, {17, 17}, {17, 17}, {0, 0, 0, 0}};
  const Tensor x = random_tensor(c.x_shape(), DType::Float32, 1);
  Attributes attributes = c.attributes();
  attributes.set("activation", std::string());
  CHECK_FALSE(kernels().make("max_pool_with_index", {x}, attributes,
                             {{DType::Float32, c.y_shape()}, {DType::UInt8, c.y_shape()}}));
}

TEST_CASE("pooling gives the same bits on any number of threads") {
  const Case c{5, {9, 9}, 20, {3, 3}, {2, 2}, {1, 1, 1, 1}};
  const Tensor x = random_tensor(c.x_shape(), DType::Float32, 1);
  const Tensor dy = random_tensor(c.y_shape(), DType::Float32, 2);
  const TensorType type{DType::Float32, c.y_shape()};
  Attributes attributes = c.attributes();
  attributes.set("activation", std::string());
  attributes.set("input_shape", c.x_shape().dims());
  const TensorType index_type{DType::UInt8, c.y_shape()};
  check_thread_independent(kernels(), "max_pool_with_index", {x}, attributes, {type, index_type});
  const Tensor index = kernels().run("max_pool_with_index", {x}, attributes, {type, index_type})[1];
  check_thread_independent(kernels(), "max_pool_scatter", {dy, index}, attributes, {type_of(x)});
  check_thread_independent(kernels(), "avg_pool", {x}, attributes, {type});
  check_thread_independent(kernels(), "avg_pool_grad", {dy}, attributes, {type_of(x)});
}

}  // namespace
}  // namespace cornu::cpu::testing
