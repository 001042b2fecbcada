// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/backends/cuda/lowered_run.h"
#include "tests/backends/kernel_run.h"

namespace cornu::cuda::testing {
namespace {

using cpu::testing::random_tensor;
using cpu::testing::tensor_of;
using Ints = std::vector<int64_t>;

void check_reduction(const std::string& op, const Shape& shape, const Ints& axes, DType dtype,
                     double tolerance) {
  CAPTURE(fmt::format("{} {} along {}", dtype, shape, axes.empty() ? -1 : axes.front()));
  Shape kept;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (std::ranges::find(axes, axis) == axes.end()) kept.push_back(shape[axis]);
  }
  Attributes attributes;
  attributes.set("axes", axes);
  check_like_cpu(op, {random_tensor(shape, dtype, 3)}, attributes, {{dtype, kept}}, tolerance);
}

}  // namespace

TEST_CASE("CUDA: reductions along any axes") {
  for (const char* op : {"reduce_sum", "reduce_max"}) {
    check_reduction(op, {5, 7, 3}, {0}, DType::Float32, 1e-6);
    check_reduction(op, {5, 7, 3}, {1}, DType::Float32, 1e-6);
    check_reduction(op, {5, 7, 3}, {2}, DType::Float32, 1e-6);
    check_reduction(op, {5, 7, 3}, {0, 2}, DType::Float32, 1e-6);
    check_reduction(op, {5, 7, 3}, {0, 1, 2}, DType::Float32, 1e-6);
    check_reduction(op, {1, 7, 1}, {0, 2}, DType::Float32, 0);
    check_reduction(op, {3, 2, 4, 2, 5}, {1, 3}, DType::Float32, 1e-6);
    check_reduction(op, {}, {}, DType::Float32, 0);
    check_reduction(op, {0, 4}, {0}, DType::Float32, 0);
    check_reduction(op, {4, 0}, {0}, DType::Float32, 0);
  }
}

TEST_CASE("CUDA: long reductions are divided into parts, narrow and wide ones into tiles") {
  check_reduction("reduce_sum", {100'003}, {0}, DType::Float32, 1e-5);
  check_reduction("reduce_sum", {2, 40'001}, {1}, DType::Float32, 1e-5);
  check_reduction("reduce_sum", {9'001, 5}, {0}, DType::Float32, 1e-5);
  check_reduction("reduce_sum", {3, 2'001, 67}, {1}, DType::Float32, 1e-5);
  check_reduction("reduce_sum", {600, 257}, {1}, DType::Float32, 1e-5);
  check_reduction("reduce_sum", {7, 300, 2, 100}, {1, 3}, DType::Float32, 1e-5);
}

TEST_CASE("CUDA: reductions of every dtype") {
  for (const DType dtype :
       {DType::Float64, DType::Float16, DType::BFloat16, DType::Int8, DType::UInt8, DType::Int32,
        DType::Int64, DType::UInt32, DType::UInt64}) {
    const double tolerance = dtype == DType::BFloat16  ? 1e-2
                             : dtype == DType::Float16 ? 2e-3
                                                       : 1e-12;
    for (const char* op : {"reduce_sum", "reduce_prod", "reduce_max", "reduce_min"}) {
      check_reduction(op, {3, 5}, {1}, dtype, is_floating(dtype) ? tolerance : 0);
    }
    check_reduction("reduce_sum", {3, 300}, {1}, dtype, is_floating(dtype) ? tolerance : 0);
  }
  check_reduction("reduce_max", {3, 5}, {1}, DType::Bool, 0);
  check_reduction("reduce_min", {3, 5}, {0}, DType::Bool, 0);
  check_reduction("reduce_min", {3, 0}, {1}, DType::Int32, 0);
}

TEST_CASE("CUDA: maxima and minima of NaN and infinities") {
  const Tensor x =
      tensor_of({1, NAN, 2, -INFINITY, 3, INFINITY, 0, -0.0, 5}, {3, 3}, DType::Float32);
  Attributes attributes;
  attributes.set("axes", Ints{1});
  for (const char* op : {"reduce_max", "reduce_min"}) {
    check_like_cpu(op, {x}, attributes, {{DType::Float32, {3}}});
  }
}

TEST_CASE("CUDA: reductions that read several numbers at once, also from odd addresses") {
  for (const DType dtype : {DType::BFloat16, DType::UInt8}) {
    const double tolerance = dtype == DType::BFloat16 ? 2e-2 : 0;
    check_reduction("reduce_sum", {3, 1'001}, {1}, dtype, tolerance);
    check_reduction("reduce_sum", {3, 1'024}, {1}, dtype, tolerance);
    check_reduction("reduce_sum", {301, 7}, {0}, dtype, tolerance);
    check_reduction("reduce_sum", {301, 48}, {0}, dtype, tolerance);
  }
  check_reduction("reduce_max", {70'001}, {0}, DType::Float16, 0);
  check_reduction("reduce_min", {6'000, 2}, {0}, DType::Int64, 0);
}

TEST_CASE("CUDA: softmax and its logarithm along any axis") {
  for (const char* op : {"softmax", "log_softmax"}) {
    for (const int64_t axis : {0, 1, 2}) {
      Attributes attributes;
      attributes.set("axis", axis);
      const Tensor x = random_tensor({3, 11, 5}, DType::Float32, 4);
      check_like_cpu(op, {x}, attributes, {type_of(x)}, 1e-6);
    }
    for (const DType dtype : {DType::Float64, DType::Float16, DType::BFloat16}) {
      Attributes attributes;
      attributes.set("axis", int64_t{1});
      const Tensor x = random_tensor({5, 1030}, dtype, 4);
      const double tolerance = dtype == DType::Float64   ? 1e-12
                               : dtype == DType::Float16 ? 1e-2
                                                         : 6e-2;
      check_like_cpu(op, {x}, attributes, {type_of(x)}, tolerance);
    }
    Attributes attributes;
    attributes.set("axis", int64_t{0});
    check_like_cpu(op, {tensor_of({-INFINITY, 1, 1000}, {3}, DType::Float32)}, attributes,
                   {{DType::Float32, {3}}}, 1e-6);
  }
}

TEST_CASE("CUDA: softmax of long rows and columns") {
  for (const char* op : {"softmax", "log_softmax"}) {
    for (const int64_t axis : {0, 1}) {
      Attributes attributes;
      attributes.set("axis", axis);
      const Tensor x =
          random_tensor(axis == 0 ? Shape{2'100, 3} : Shape{3, 2'100}, DType::Float32, 4);
      check_like_cpu(op, {x}, attributes, {type_of(x)}, 3e-6);
    }
    Tensor x = random_tensor({4, 3'000}, DType::Float32, 5);
    auto values = x.mutable_data<float>();
    values[7] = -INFINITY;
    values[3'001] = INFINITY;
    values[6'002] = NAN;
    std::fill_n(values.begin() + 9'000, 2'999, -INFINITY);
    Attributes attributes;
    attributes.set("axis", int64_t{1});
    check_like_cpu(op, {x}, attributes, {type_of(x)}, 3e-6);
  }
}

TEST_CASE("CUDA: cross-entropies of long rows, and of none") {
  const Tensor logits = random_tensor({3, 2'500}, DType::Float32, 5);
  const std::vector<TensorType> outputs = {{DType::Float32, {3}}, {DType::Float32, {3, 2'500}}};
  check_like_cpu("softmax_cross_entropy", {logits, random_tensor({3, 2'500}, DType::Float32, 6)},
                 {}, outputs, 1e-4);
  Attributes attributes;
  attributes.set("ignore_class", int64_t{-1});
  const Tensor labels = tensor_of({2'499, -1, 300}, {3}, DType::Int64);
  check_like_cpu("sparse_softmax_cross_entropy", {logits, labels}, attributes, outputs, 1e-5);
  check_like_cpu("sparse_softmax_cross_entropy",
                 {Tensor::empty({0, 5}, DType::Float32), Tensor::empty({0}, DType::Int32)},
                 attributes, {{DType::Float32, {0}}, {DType::Float32, {0, 5}}});
  check_like_cpu("softmax_cross_entropy",
                 {Tensor::empty({2, 0}, DType::Float32), Tensor::empty({2, 0}, DType::Float32)}, {},
                 {{DType::Float32, {2}}, {DType::Float32, {2, 0}}});
  for (const DType dtype : {DType::Float16, DType::BFloat16, DType::Float64}) {
    const double tolerance = dtype == DType::Float64 ? 1e-12 : 3e-2;
    check_like_cpu("sparse_softmax_cross_entropy",
                   {random_tensor({3, 10}, dtype, 5), tensor_of({9, 0, 3}, {3}, DType::UInt8)},
                   attributes, {{dtype, {3}}, {dtype, {3, 10}}}, tolerance);
  }
}

TEST_CASE("CUDA: cross-entropies, and labels that are refused") {
  const Tensor logits = random_tensor({7, 10}, DType::Float32, 5);
  const std::vector<TensorType> outputs = {{DType::Float32, {7}}, {DType::Float32, {7, 10}}};
  check_like_cpu("softmax_cross_entropy", {logits, random_tensor({7, 10}, DType::Float32, 6)}, {},
                 outputs, 1e-5);
  Attributes attributes;
  attributes.set("ignore_class", int64_t{3});
  const Tensor labels = tensor_of({0, 3, 9, 1, 2, 3, 4}, {7}, DType::Int32);
  check_like_cpu("sparse_softmax_cross_entropy", {logits, labels}, attributes, outputs, 1e-5);
  const Tensor wrong = tensor_of({0, 3, 10, 1, 2, 3, 4}, {7}, DType::Int64);
  CHECK_THROWS_WITH_AS(
      run_lowered("sparse_softmax_cross_entropy", {logits, wrong}, attributes, outputs),
      doctest::Contains("label 10 of row 2 is outside of [0, 10)"), InvalidArgument);
}

TEST_CASE("CUDA: places of extremes, running sums and orders") {
  for (const Shape& shape : {Shape{9}, Shape{3, 700}, Shape{4, 37, 3}}) {
    const int64_t axis = shape.rank() > 1 ? 1 : 0;
    const Tensor x = random_tensor(shape, DType::Float32, 7);
    const Tensor few = random_tensor(shape, DType::Int8, 7);
    for (const Tensor& tensor : {x, few}) {
      CAPTURE(fmt::format("{} {}", tensor.dtype(), shape));
      Attributes attributes;
      attributes.set("axis", axis);
      for (const char* op : {"argmax", "argmin"}) check_like_cpu(op, {tensor}, attributes);
      for (const bool descending : {false, true}) {
        Attributes sort = attributes;
        sort.set("descending", descending);
        check_like_cpu("argsort", {tensor}, sort);
        sort.set("first", int64_t{2});
        check_like_cpu("argsort", {tensor}, sort);
      }
      for (const bool reverse : {false, true}) {
        Attributes sum = attributes;
        sum.set("reverse", reverse);
        sum.set("exclusive", !reverse);
        check_like_cpu("cumsum", {tensor}, sum, 1e-6);
      }
    }
  }
}

TEST_CASE("CUDA: orders of NaN, of several runs, and of many rows") {
  Attributes attributes;
  attributes.set("axis", int64_t{0});
  attributes.set("descending", false);
  check_like_cpu("argsort", {tensor_of({3, NAN, 1, NAN, -1, 3}, {6}, DType::Float32)}, attributes);
  check_like_cpu("argsort", {random_tensor({2'000}, DType::Int8, 8)}, attributes);
  check_like_cpu("argsort", {random_tensor({1'025, 2}, DType::Float64, 8)}, attributes);
  attributes.set("first", int64_t{1'000});
  check_like_cpu("argsort", {random_tensor({1'025, 2}, DType::Float64, 8)}, attributes);
  for (const char* op : {"argmax", "argmin"}) {
    check_like_cpu(op, {tensor_of({3, NAN, 1, NAN, -1, 3}, {6}, DType::Float32)}, attributes);
  }
}

TEST_CASE("CUDA: extremes and running sums of long axes, in parts") {
  for (const Shape& shape : {Shape{20'001}, Shape{5'000, 3}}) {
    for (const DType dtype : {DType::Float32, DType::UInt8}) {
      CAPTURE(fmt::format("{} {}", dtype, shape));
      const Tensor x = random_tensor(shape, dtype, 7);
      Attributes attributes;
      attributes.set("axis", int64_t{0});
      check_like_cpu("argmax", {x}, attributes);
      attributes.set("reverse", true);
      attributes.set("exclusive", true);
      check_like_cpu("cumsum", {x}, attributes, 1e-6);
    }
  }
}

TEST_CASE("CUDA: scans of every dtype") {
  for (const DType dtype :
       {DType::Bool, DType::Float64, DType::Float16, DType::BFloat16, DType::Int8, DType::UInt8,
        DType::Int32, DType::Int64, DType::UInt32, DType::UInt64}) {
    CAPTURE(fmt::format("{}", dtype));
    const Tensor x = random_tensor({4, 19}, dtype, 9);
    Attributes attributes;
    attributes.set("axis", int64_t{1});
    for (const char* op : {"argmax", "argmin"}) check_like_cpu(op, {x}, attributes);
    if (dtype != DType::Bool) {
      Attributes sum = attributes;
      sum.set("reverse", false);
      sum.set("exclusive", false);
      const double tolerance = dtype == DType::Float64 ? 1e-12 : is_floating(dtype) ? 1e-2 : 0;
      check_like_cpu("cumsum", {x}, sum, tolerance);
    }
    attributes.set("descending", true);
    check_like_cpu("argsort", {x}, attributes);
  }
}

TEST_CASE("CUDA: orders of short rows beside each other, of zeros, infinities and bounds") {
  for (const auto& [shape, axis] : {std::pair{Shape{300, 7}, 1}, std::pair{Shape{7, 300}, 0},
                                    std::pair{Shape{2, 1'025, 3}, 1}, std::pair{Shape{5, 1}, 1}}) {
    Attributes attributes;
    attributes.set("axis", int64_t{axis});
    attributes.set("descending", false);
    check_like_cpu("argsort", {random_tensor(shape, DType::Float32, 8)}, attributes);
    check_like_cpu("argsort", {random_tensor(shape, DType::Bool, 8)}, attributes);
  }
  const Tensor floats =
      tensor_of({0, INFINITY, -0.0, NAN, -INFINITY, 0, -NAN, -0.0}, {8}, DType::Float32);
  const Tensor integers = tensor_of({0, 2147483647, -1, -2147483648.0, 1}, {5}, DType::Int32);
  for (const bool descending : {false, true}) {
    Attributes attributes;
    attributes.set("axis", int64_t{0});
    attributes.set("descending", descending);
    check_like_cpu("argsort", {floats}, attributes);
    check_like_cpu("argsort", {integers}, attributes);
  }
}

TEST_CASE("CUDA: many slices in few segments, and nothing to reduce") {
  Attributes attributes;
  attributes.set("count", int64_t{7});
  Tensor ids = Tensor::empty({2'000}, DType::Int64);
  auto values = ids.mutable_data<int64_t>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i * i % 11 % 7);
  for (const char* reduction : {"max", "min", "prod"}) {
    attributes.set("reduction", std::string(reduction));
    check_like_cpu("segment_reduce", {ids, random_tensor({2'000, 3}, DType::Float32, 9)},
                   attributes, 1e-5);
    check_like_cpu("segment_reduce", {ids, random_tensor({2'000, 40}, DType::Int8, 9)}, attributes);
    check_like_cpu("segment_reduce", {ids, random_tensor({2'000}, DType::BFloat16, 9)}, attributes,
                   1e-2);
    check_like_cpu("segment_reduce", {ids, random_tensor({2'000, 0}, DType::Float32, 9)},
                   attributes);
    check_like_cpu("segment_reduce",
                   {Tensor::empty({0}, DType::Int32), Tensor::empty({0, 2}, DType::Float32)},
                   attributes);
  }
}

TEST_CASE("CUDA: segments") {
  const Tensor ids = tensor_of({2, 0, 2, 4, 0, 2}, {6}, DType::Int32);
  for (const char* reduction : {"max", "min", "prod"}) {
    Attributes attributes;
    attributes.set("reduction", std::string(reduction));
    attributes.set("count", int64_t{5});
    check_like_cpu("segment_reduce", {ids, random_tensor({6, 3}, DType::Float32, 9)}, attributes);
    check_like_cpu("segment_reduce", {ids, random_tensor({6}, DType::Int32, 9)}, attributes);
    const Tensor wrong = tensor_of({2, 0, 5, 4, 0, 2}, {6}, DType::Int32);
    CHECK_THROWS_WITH_AS(run_lowered("segment_reduce", {wrong, random_tensor({6}, DType::Int32, 9)},
                                     attributes, {{DType::Int32, {5}}}),
                         doctest::Contains("index 5 is outside of [0, 5)"), OutOfRange);
  }
}

}  // namespace cornu::cuda::testing
