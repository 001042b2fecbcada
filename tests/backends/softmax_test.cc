// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "tests/backends/instruction_sets.h"
#include "tests/backends/kernel_run.h"

namespace cornu::cpu::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kNone = std::numeric_limits<int64_t>::min();

const KernelRunner& kernels() {
  static const KernelRunner runner(register_softmax_kernels);
  return runner;
}

double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::Float16:
      return 1e-3;
    case DType::BFloat16:
      return 8e-3;
    case DType::Float32:
      return 5e-7;
    default:
      return 1e-14;
  }
}

// log_softmax along `axis`, by plain loops.
std::vector<double> reference(const Tensor& x, int64_t axis) {
  const Shape& shape = x.shape();
  const int64_t count = shape[axis];
  const int64_t inner = shape.slice(axis + 1).num_elements();
  std::vector<double> values = values_of(x);
  for (int64_t line = 0; line < x.num_elements() / std::max<int64_t>(1, count); ++line) {
    const int64_t first = line / inner * count * inner + line % inner;
    const auto at = [&](int64_t i) -> double& { return values[size_t(first + i * inner)]; };
    double max = -kInfinity, sum = 0;
    for (int64_t i = 0; i < count; ++i) max = std::max(max, at(i));
    for (int64_t i = 0; i < count; ++i) sum += std::exp(at(i) - max);
    for (int64_t i = 0; i < count; ++i) at(i) = at(i) - max - std::log(sum);
  }
  return values;
}

std::vector<double> exponentials(std::vector<double> values) {
  for (double& value : values) value = std::exp(value);
  return values;
}

// Random logits in [-8, 8).
Tensor logits(const Shape& shape, DType dtype, uint64_t seed) {
  std::vector<double> values = values_of(random_tensor(shape, DType::Float64, seed));
  for (double& value : values) value *= 8;
  return tensor_of(values, shape, dtype);
}

const Shape kShapes[] = {{1},          {10},     {16},     {17},       {64, 10},    {3, 1},
                         {5, 33},      {2, 999}, {600, 2}, {4, 6, 10}, {3, 7, 300}, {0, 5},
                         {2, 3, 4, 5}, {37, 8},  {35, 4},  {50, 3}};

const DType kFloating[] = {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64};

TEST_CASE("softmax and log_softmax along any axis") {
  for_each_instruction_set([] {
    for (const DType dtype : kFloating) {
      for (const Shape& shape : kShapes) {
        for (int64_t axis = 0; axis < shape.rank(); ++axis) {
          CAPTURE(dtype);
          CAPTURE(shape.to_string());
          CAPTURE(axis);
          const Tensor x = logits(shape, dtype, 1);
          const std::vector<double> expected = reference(x, axis);
          const Attributes attributes{{"axis", axis}};
          const double tolerance = tolerance_of(dtype);
          check_close(kernels().run("softmax", {x}, attributes, {type_of(x)})[0],
                      exponentials(expected), tolerance);
          check_close(kernels().run("log_softmax", {x}, attributes, {type_of(x)})[0], expected,
                      tolerance);
        }
      }
    }
  });
}

TEST_CASE("softmax of large, infinite and undefined logits") {
  const Tensor x = tensor_of({1000, 1001, -1e30,  //
                              -kInfinity, 0, 0,   //
                              kNan, 0, 0,         //
                              kInfinity, 0, 0,    //
                              -kInfinity, -kInfinity, -kInfinity},
                             {5, 3}, DType::Float32);
  const double e = std::exp(1.0);
  const std::vector<double> rows = {1 / (1 + e), e / (1 + e), 0, 0, 0.5, 0.5};
  for_each_instruction_set([&] {
    const Tensor y = kernels().run("softmax", {x}, {{"axis", int64_t{1}}}, {type_of(x)})[0];
    check_close(y.rows(0, 2), rows, 1e-6);
    const Tensor z = kernels().run("log_softmax", {x}, {{"axis", int64_t{1}}}, {type_of(x)})[0];
    check_close(
        z.rows(0, 2),
        {std::log(rows[0]), std::log(rows[1]), -1e30, -kInfinity, std::log(0.5), std::log(0.5)},
        1e-6);
    CHECK(std::isnan(values_of(y)[6]));
    CHECK(std::isnan(values_of(y)[8]));
    CHECK(std::isnan(values_of(y)[9]));
    CHECK(std::isnan(values_of(y)[12]));
    CHECK(std::isnan(values_of(z)[7]));
  });
}

// Shapes of logits, whose last axis is the classes.
const Shape kClasses[] = {{4, 10}, {1, 1}, {64, 10}, {7, 17}, {3, 1000}, {2, 5, 9},
                          {0, 4},  {6},    {37, 8},  {33, 4}, {50, 3}};

TEST_CASE("cross-entropy with the probabilities of targets") {
  for_each_instruction_set([] {
    for (const DType dtype : kFloating) {
      for (const Shape& shape : kClasses) {
        CAPTURE(dtype);
        CAPTURE(shape.to_string());
        const Tensor x = logits(shape, dtype, 2);
        const int64_t count = shape.back();
        std::vector<double> targets = values_of(random_tensor(shape, DType::Float64, 3));
        for (double& target : targets) target = std::abs(target) / static_cast<double>(count);
        const Tensor t = tensor_of(targets, shape, dtype);
        const std::vector<double> log = reference(x, shape.rank() - 1);
        const Shape losses = shape.slice(0, shape.rank() - 1);
        std::vector<double> expected(static_cast<size_t>(losses.num_elements()));
        for (size_t i = 0; i < log.size(); ++i) {
          expected[i / size_t(count)] -= values_of(t)[i] * log[i];
        }
        const auto results =
            kernels().run("softmax_cross_entropy", {x, t}, {}, {{dtype, losses}, {dtype, shape}});
        check_close(results[0], expected, 2 * tolerance_of(dtype));
        check_close(results[1], exponentials(log), tolerance_of(dtype));
      }
    }
  });
}

TEST_CASE("a target of zero leaves out a class that can't be") {
  const Tensor x = tensor_of({-kInfinity, 0, 0}, {1, 3}, DType::Float32);
  const Tensor t = tensor_of({0, 1, 0}, {1, 3}, DType::Float32);
  const auto results = kernels().run("softmax_cross_entropy", {x, t}, {},
                                     {{DType::Float32, {1}}, {DType::Float32, {1, 3}}});
  check_close(results[0], {std::log(2.0)}, 1e-6);
  check_close(results[1], {0, 0.5, 0.5}, 1e-6);
}

void check_sparse(const Shape& shape, DType dtype, DType label_dtype, int64_t ignored) {
  CAPTURE(dtype);
  CAPTURE(label_dtype);
  CAPTURE(shape.to_string());
  const Tensor x = logits(shape, dtype, 4);
  const Shape rows = shape.slice(0, shape.rank() - 1);
  const int64_t count = shape.back();
  const std::vector<double> log = reference(x, shape.rank() - 1);
  std::vector<double> labels, expected;
  for (int64_t i = 0; i < rows.num_elements(); ++i) {
    const int64_t label = ignored != kNone && i % 3 == 1 ? ignored : i * 7 % count;
    labels.push_back(static_cast<double>(label));
    expected.push_back(label == ignored ? 0 : -log[size_t(i * count + label)]);
  }
  const auto results =
      kernels().run("sparse_softmax_cross_entropy", {x, tensor_of(labels, rows, label_dtype)},
                    {{"ignore_class", ignored}}, {{dtype, rows}, {dtype, shape}});
  check_close(results[0], expected, 2 * tolerance_of(dtype));
  check_close(results[1], exponentials(log), tolerance_of(dtype));
}

TEST_CASE("cross-entropy with labels, some of them ignored") {
  for_each_instruction_set([] {
    for (const DType dtype : kFloating) {
      for (const Shape& shape : kClasses) {
        for (const DType labels : {DType::Int32, DType::Int64, DType::UInt8}) {
          if (labels == DType::UInt8 && shape.back() > 255) continue;
          check_sparse(shape, dtype, labels, kNone);
          check_sparse(shape, dtype, labels, 0);
          if (is_signed(labels)) check_sparse(shape, dtype, labels, -1);
        }
      }
    }
  });
}

TEST_CASE("a label that is no class is an error, before anything is written") {
  const Tensor x = logits({64, 10}, DType::Float32, 5);
  const auto run = [&](int64_t wrong, int64_t ignored) {
    std::vector<int32_t> labels(64, 3);
    labels[63] = static_cast<int32_t>(wrong);
    const Tensor t = Tensor::from(labels);
    const std::vector<TensorType> types = {{DType::Float32, {64}}, {DType::Float32, {64, 10}}};
    auto kernel =
        kernels().make("sparse_softmax_cross_entropy", {x, t}, {{"ignore_class", ignored}}, types);
    std::vector<float> losses(64, -5), probabilities(640, -5), scratch(256);
    const void* in[] = {x.raw(), t.raw()};
    void* out[] = {losses.data(), probabilities.data()};
    std::string message;
    try {
      kernel->run({.in = in, .out = out, .scratch = scratch.data()});
    } catch (const InvalidArgument& error) {
      message = error.what();
    }
    if (!message.empty()) {
      CHECK(std::count(losses.begin(), losses.end(), -5.0f) == 64);
      CHECK(std::count(probabilities.begin(), probabilities.end(), -5.0f) == 640);
    }
    return message;
  };
  CHECK(run(12, kNone) ==
        "sparse_softmax_cross_entropy: label 12 of row 63 is outside of [0, 10), the classes of "
        "logits of "
        "shape (64, 10). Labels are numbers of classes, counted from 0; one that is to be left out "
        "is named by ignore_class.");
  CHECK(run(10, kNone).find("label 10 ") != std::string::npos);
  CHECK(run(-1, kNone).find("label -1 ") != std::string::npos);
  CHECK(run(-1, 255).find("label -1 ") != std::string::npos);
  CHECK(run(-1, -1).empty());
  CHECK(run(9, kNone).empty());
}

TEST_CASE("probabilities may be written over the logits or the targets") {
  const Tensor x = logits({9, 21}, DType::Float32, 6);
  const Tensor t = tensor_of(exponentials(reference(logits({9, 21}, DType::Float32, 7), 1)),
                             {9, 21}, DType::Float32);
  const std::vector<TensorType> types = {{DType::Float32, {9}}, {DType::Float32, {9, 21}}};
  const auto expected = kernels().run("softmax_cross_entropy", {x, t}, {}, types);
  for (const size_t over : {0, 1}) {
    auto kernel = kernels().make("softmax_cross_entropy", {x, t}, {}, types);
    std::vector<float> arrays[] = {x.to_vector<float>(), t.to_vector<float>()};
    std::vector<float> losses(9);
    const void* in[] = {arrays[0].data(), arrays[1].data()};
    void* out[] = {losses.data(), arrays[over].data()};
    kernel->run({.in = in, .out = out});
    CHECK(losses == expected[0].to_vector<float>());
    CHECK(arrays[over] == expected[1].to_vector<float>());
  }
}

TEST_CASE("softmax has the same bits on any number of threads") {
  for (const Shape& shape : {Shape{501, 100}, Shape{30, 9, 200}, Shape{16391, 3}}) {
    for (const DType dtype : {DType::Float32, DType::BFloat16}) {
      const Tensor x = logits(shape, dtype, 8);
      for (int64_t axis = 0; axis < shape.rank(); ++axis) {
        check_thread_independent(kernels(), "softmax", {x}, {{"axis", axis}}, {type_of(x)});
        check_thread_independent(kernels(), "log_softmax", {x}, {{"axis", axis}}, {type_of(x)});
      }
    }
  }
  for (const Shape& shape : {Shape{501, 100}, Shape{16391, 5}}) {
    const Tensor x = logits(shape, DType::Float32, 8);
    const Tensor labels = Tensor::from(std::vector<int32_t>(size_t(shape[0]), 4));
    const std::vector<TensorType> types = {{DType::Float32, {shape[0]}}, {DType::Float32, shape}};
    check_thread_independent(kernels(), "sparse_softmax_cross_entropy", {x, labels},
                             {{"ignore_class", kNone}}, types);
    check_thread_independent(kernels(), "softmax_cross_entropy", {x, x}, {}, types);
  }
}

}  // namespace
}  // namespace cornu::cpu::testing
