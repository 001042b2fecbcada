// SPDX-License-Identifier: Apache-2.0
// Convolutions and their gradients, by libraries and by Cornu's own kernels.
#include <doctest/doctest.h>

#include "framework/graph/passes/fuse_bias.h"
#include "tests/backends/cuda/lowered_run.h"
#include "tests/backends/kernel_run.h"

namespace cornu::cuda::testing {
namespace {

using cpu::testing::random_tensor;
using Ints = std::vector<int64_t>;

struct ConvCase {
  int64_t batch;
  Ints in;
  int64_t channels;
  int64_t filters;
  Ints taps;
  Ints strides = {};
  Ints padding = {};  // low, high for each axis
  Ints dilation = {};
  int64_t groups = 1;

  Attributes attributes() const {
    const size_t axes = in.size();
    return {{"strides", strides.empty() ? Ints(axes, 1) : strides},
            {"padding", padding.empty() ? Ints(2 * axes, 0) : padding},
            {"dilation", dilation.empty() ? Ints(axes, 1) : dilation},
            {"groups", groups}};
  }
  Shape x() const { return joined({batch}, in, {channels}); }
  Shape filter() const { return joined({}, taps, {channels / groups, filters}); }

 private:
  static Shape joined(Ints first, const Ints& middle, const Ints& last) {
    first.insert(first.end(), middle.begin(), middle.end());
    first.insert(first.end(), last.begin(), last.end());
    return Shape(first);
  }
};

double tolerance_of(DType dtype) {
  if (dtype == DType::Float64) return 1e-13;
  if (dtype == DType::Float32) return 3e-5;
  return is_floating(dtype) ? 4e-2 : 0;
}

void check_directions(const ConvCase& c, DType dtype = DType::Float32) {
  CAPTURE(c.x().to_string());
  CAPTURE(c.filter().to_string());
  CAPTURE(fmt::format("{}", dtype));
  const double tolerance = tolerance_of(dtype);
  const Tensor x = random_tensor(c.x(), dtype, 1);
  const Tensor filter = random_tensor(c.filter(), dtype, 2);
  check_like_cpu("conv", {x, filter}, c.attributes(), tolerance);
  const TensorType types[] = {type_of(x), type_of(filter)};
  const Shape y = OpRegistry::global().at("conv").infer(types, c.attributes())[0].shape;
  const Tensor dy = random_tensor(y, dtype, 3);
  Attributes of_input = c.attributes();
  of_input.set("input_shape", c.x().dims());
  check_like_cpu("conv_input_grad", {dy, filter}, of_input, tolerance);
  Attributes of_filter = c.attributes();
  of_filter.set("filter_shape", c.filter().dims());
  check_like_cpu("conv_filter_grad", {x, dy}, of_filter, 4 * tolerance);  // sums of many terms
}

void check_with_and_without_libraries(const ConvCase& c, DType dtype = DType::Float32) {
  check_directions(c, dtype);
  const WithoutLibraries scope;
  check_directions(c, dtype);
}

TEST_CASE("conv in one, two and three dimensions") {
  check_with_and_without_libraries({2, {13}, 3, 5, {4}, {2}, {1, 2}});
  check_with_and_without_libraries({2, {7, 9}, 3, 5, {3, 3}, {}, {1, 1, 0, 2}});
  check_with_and_without_libraries({1, {5, 4, 6}, 2, 3, {3, 2, 3}, {2, 1, 2}, {1, 1, 0, 0, 1, 0}});
}

TEST_CASE("conv with strides, dilation and groups") {
  check_with_and_without_libraries({2, {9, 9}, 4, 8, {3, 3}, {2, 2}, {0, 1, 1, 1}});
  check_with_and_without_libraries({2, {11, 10}, 3, 4, {3, 2}, {3, 2}, {}, {2, 3}});
  check_with_and_without_libraries({2, {6, 7}, 6, 4, {3, 3}, {}, {1, 1, 1, 1}, {}, 2});
}

TEST_CASE("conv of filters larger than a tile of the transposition") {
  check_with_and_without_libraries({1, {4, 4}, 13, 70, {3, 3}});
}

TEST_CASE("conv of one tap is a product of matrices") {
  check_with_and_without_libraries({3, {5, 6}, 7, 9, {1, 1}});
  check_with_and_without_libraries({3, {6, 5}, 4, 8, {1, 1}, {2, 2}});
}

TEST_CASE("conv of every dtype") {
  const ConvCase c{2, {6, 5}, 3, 4, {3, 3}, {}, {1, 1, 1, 1}};
  for (const DType dtype :
       {DType::Float16, DType::BFloat16, DType::Float64, DType::Int32, DType::Int64}) {
    check_with_and_without_libraries(c, dtype);
  }
}

TEST_CASE("conv whose filter or stride reaches far beyond the input") {
  constexpr int64_t kFar = int64_t{1} << 31;
  const WithoutLibraries scope;
  check_directions({2, {9}, 3, 4, {5}, {}, {2 * kFar, 2 * kFar}, {kFar}});
  check_directions({2, {9, 8}, 3, 3, {3, 3}, {2 * kFar, 2}, {}, {}, 3});
  check_directions({2, {9}, 3, 3, {5}, {}, {2 * kFar, 2 * kFar}, {kFar}, 3});
}

TEST_CASE("depthwise conv") {
  for (const DType dtype : {DType::Float32, DType::BFloat16}) {
    check_directions({2, {6, 7}, 24, 24, {3, 3}, {}, {1, 1, 1, 1}, {}, 24}, dtype);
    check_directions({2, {9, 8}, 8, 8, {3, 3}, {2, 2}, {0, 1, 0, 1}, {}, 8}, dtype);
  }
  check_directions({2, {6, 7}, 5, 5, {3, 3}, {}, {1, 1, 1, 1}, {}, 5});
  check_directions({1, {9, 9}, 6, 6, {5, 5}, {}, {2, 2, 2, 2}, {}, 6}, DType::Float16);
  check_directions({1, {8, 8}, 4, 4, {6, 5}, {}, {}, {1, 1}, 4}, DType::Float64);
  check_directions({2, {12}, 3, 3, {3}, {}, {2, 0}, {2}, 3}, DType::Int32);
  check_directions({1, {4, 3, 5}, 4, 4, {2, 2, 2}, {1, 2, 1}, {}, {}, 4});
}

TEST_CASE("depthwise conv of so many outputs that a thread computes several") {
  check_directions({2, {72, 75}, 64, 64, {3, 3}, {}, {1, 1, 1, 1}, {}, 64});
  check_directions({1, {182, 147}, 160, 160, {3, 3}, {2, 2}, {1, 1, 1, 1}, {}, 160});
}

TEST_CASE("filters that see one channel each, several of them") {
  check_directions({2, {6, 6}, 4, 12, {3, 3}, {}, {}, {}, 4});
  check_directions({2, {6, 6}, 4, 8, {1, 1}, {}, {}, {}, 4}, DType::BFloat16);
}

TEST_CASE("conv without elements or without terms") {
  check_directions({0, {6, 6}, 3, 4, {3, 3}});
  check_directions({2, {6, 6}, 0, 4, {3, 3}});
  check_directions({2, {6, 6}, 3, 0, {3, 3}});
}

TEST_CASE("conv with bias and relu") {
  passes::bias_op("conv_bias_act");
  const std::vector<ConvCase> cases = {
      {2, {6, 5}, 3, 8, {3, 3}, {}, {1, 1, 1, 1}},
      {2, {6, 5}, 3, 8, {1, 1}},
      {2, {6, 5}, 8, 8, {3, 3}, {}, {1, 1, 1, 1}, {}, 8},
  };
  for (const ConvCase& c : cases) {
    for (const char* activation : {"", "relu"}) {
      CAPTURE(c.filter().to_string());
      Attributes attributes = c.attributes();
      attributes.set("activation", std::string(activation));
      const Tensor x = random_tensor(c.x(), DType::Float32, 1);
      const Tensor filter = random_tensor(c.filter(), DType::Float32, 2);
      const Tensor bias = random_tensor({c.filters}, DType::Float32, 3);
      check_like_cpu("conv_bias_act", {x, filter, bias}, attributes, 3e-5);
      const WithoutLibraries scope;
      check_like_cpu("conv_bias_act", {x, filter, bias}, attributes, 3e-5);
    }
  }
}

TEST_CASE("conv without terms gives the bias") {
  passes::bias_op("conv_bias_act");
  for (const int64_t tap : {1, 3}) {
    const ConvCase c{2, {6, 5}, 0, 3, {tap, tap}};
    Attributes attributes = c.attributes();
    attributes.set("activation", std::string("relu"));
    const Tensor bias = Tensor::from(std::vector<float>{1.5f, -2.0f, 3.0f});
    const TensorType y = {DType::Float32, {2, 7 - tap, 6 - tap, 3}};
    const Tensor result = run_lowered("conv_bias_act",
                                      {random_tensor(c.x(), DType::Float32, 1),
                                       random_tensor(c.filter(), DType::Float32, 2), bias},
                                      attributes, {y})[0];
    for (size_t i = 0; i < static_cast<size_t>(result.num_elements()); ++i) {
      REQUIRE(result.data<float>()[i] == std::max(0.0f, bias.data<float>()[i % 3]));
    }
  }
}

TEST_CASE("matmul with bias and relu") {
  passes::bias_op("matmul_bias_act");
  for (const DType dtype : {DType::Float32, DType::BFloat16}) {
    for (const char* activation : {"", "relu"}) {
      const Attributes attributes = {
          {"transpose_a", false}, {"transpose_b", true}, {"activation", std::string(activation)}};
      const std::vector<Tensor> inputs = {random_tensor({2, 9, 33}, dtype, 1),
                                          random_tensor({20, 33}, dtype, 2),
                                          random_tensor({20}, dtype, 3)};
      check_like_cpu("matmul_bias_act", inputs, attributes, tolerance_of(dtype));
      const WithoutLibraries scope;
      check_like_cpu("matmul_bias_act", inputs, attributes, tolerance_of(dtype));
    }
  }
}

// With a residual, y is the CPU's result with bias alone, plus the residual, followed by relu.
TEST_CASE("conv with a residual") {
  passes::bias_op("conv_bias_act");
  for (const int64_t groups : {1, 8}) {
    const ConvCase c{2, {6, 5}, 8, 8, {3, 3}, {}, {1, 1, 1, 1}, {}, groups};
    Attributes attributes = c.attributes();
    attributes.set("activation", std::string(""));
    const std::vector<Tensor> inputs = {random_tensor(c.x(), DType::Float32, 1),
                                        random_tensor(c.filter(), DType::Float32, 2),
                                        random_tensor({c.filters}, DType::Float32, 3)};
    const std::vector<TensorType> y = {{DType::Float32, c.x()}};
    const Tensor plain = run_lowered("conv_bias_act", inputs, attributes, y)[0];
    const Tensor residual = random_tensor(c.x(), DType::Float32, 4);
    attributes.set("activation", std::string("relu"));
    std::vector<Tensor> all = inputs;
    all.push_back(residual);
    const auto check = [&] {
      const Tensor result = run_lowered("conv_bias_act", all, attributes, y)[0];
      for (size_t i = 0; i < static_cast<size_t>(result.num_elements()); ++i) {
        const float expected = std::max(0.0f, plain.data<float>()[i] + residual.data<float>()[i]);
        REQUIRE(result.data<float>()[i] == doctest::Approx(expected).epsilon(1e-5));
      }
    };
    check();
    const WithoutLibraries scope;
    check();
  }
}

}  // namespace
}  // namespace cornu::cuda::testing
