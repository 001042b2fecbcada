// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <type_traits>

#include "tests/backends/instruction_sets.h"
#include "tests/backends/kernel_run.h"

namespace cornu::cpu::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const KernelRunner& kernels() {
  static const KernelRunner runner(register_reduction_kernels);
  return runner;
}

using Ints = std::vector<int64_t>;

Shape reduced_shape(const Shape& shape, const Ints& axes, bool keepdims) {
  Shape result;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) {
      result.push_back(shape[axis]);
    } else if (keepdims) {
      result.push_back(1);
    }
  }
  return result;
}

double lowest_of(DType dtype, bool highest) {
  if (is_floating(dtype)) return highest ? kInfinity : -kInfinity;
  return dispatch_dtype(dtype, [&]<class T>(T) -> double {
    if constexpr (std::is_arithmetic_v<T>) {
      return static_cast<double>(highest ? std::numeric_limits<T>::max()
                                         : std::numeric_limits<T>::lowest());
    }
    return 0;
  });
}

// Computed by plain loops in double. NaN propagates.
std::vector<double> reference(const std::string& op, const Tensor& x, const Ints& axes) {
  const Shape& shape = x.shape();
  const Shape kept = reduced_shape(shape, axes, true);
  double start = op == "reduce_prod" ? 1 : 0;
  if (op == "reduce_max") start = lowest_of(x.dtype(), false);
  if (op == "reduce_min") start = lowest_of(x.dtype(), true);
  std::vector<double> result(static_cast<size_t>(kept.num_elements()), start);
  const std::vector<double> values = values_of(x);
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    int64_t rest = i, index = 0, stride = 1;
    for (int64_t axis = shape.rank() - 1; axis >= 0; --axis) {
      if (kept[axis] != 1) index += rest % shape[axis] * stride;
      rest /= shape[axis];
      stride *= kept[axis];
    }
    double& to = result[static_cast<size_t>(index)];
    const double value = values[static_cast<size_t>(i)];
    if (op == "reduce_sum") {
      to += value;
    } else if (op == "reduce_prod") {
      to *= value;
    } else if (std::isnan(value) || std::isnan(to)) {
      to = kNan;
    } else {
      to = op == "reduce_max" ? std::max(to, value) : std::min(to, value);
    }
  }
  return result;
}

Tensor reduce(const std::string& op, const Tensor& x, const Ints& axes, bool keepdims = false) {
  return kernels().run(op, {x}, {{"axes", axes}, {"keepdims", keepdims}},
                       {{x.dtype(), reduced_shape(x.shape(), axes, keepdims)}})[0];
}

// Numbers whose products stay small: most are 1.
Tensor for_products(const Shape& shape, DType dtype) {
  Tensor x = random_tensor(shape, dtype, 5);
  std::vector<double> values = values_of(x);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = i % 97 == 0 && i < 1000 ? 2 : is_floating(dtype) ? 1 + values[i] / 512 : 1;
  }
  return tensor_of(values, shape, dtype);
}

struct ReduceCase {
  Shape shape;
  Ints axes;
};

const ReduceCase kCases[] = {
    {{1}, {0}},
    {{7}, {0}},
    {{16}, {0}},
    {{1000}, {0}},
    {{4096}, {0}},
    {{4097}, {0}},
    {{70001}, {0}},
    {{64, 10}, {1}},
    {{64, 10}, {0}},
    {{64, 10}, {0, 1}},
    {{3000, 3}, {0}},
    {{3000, 3}, {1}},
    {{501, 17}, {0}},
    {{60, 128}, {0}},
    {{129, 100}, {0}},
    {{2500, 64}, {0}},
    {{5, 3000}, {0}},
    {{5, 9000}, {1}},
    {{2, 5000, 2}, {1}},
    {{1, 40, 1}, {1}},
    {{1, 40, 1}, {0}},
    {{4, 1, 6}, {1}},
    {{2, 9, 9, 8}, {0, 1, 2}},
    {{6, 50, 7}, {0, 2}},
    {{6, 50, 7}, {1}},
    {{3, 4, 5, 6, 7}, {1, 3}},
    {{3, 4, 5, 6, 7}, {0, 2, 4}},
    {{2, 3, 4100}, {0, 2}},
    {{40, 2, 300}, {0, 2}},
    {{9, 2, 700, 3}, {0, 2}},
    {{2, 300, 5, 4}, {1, 3}},  // of groups of channels
    {{2, 3, 50, 5, 7}, {0, 2, 4}},
    {{3, 2, 5, 60}, {1, 3}},
    {{33, 33, 33}, {0, 1, 2}},
    {{800, 130}, {0}},
};

const char* const kOps[] = {"reduce_sum", "reduce_prod", "reduce_max", "reduce_min"};

double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::Float16:
      return 2e-3;
    case DType::BFloat16:
      return 1.6e-2;
    case DType::Float32:
      return 2e-6;
    case DType::Float64:
      return 1e-13;
    default:
      return 0;
  }
}

void check_case(const ReduceCase& test, DType dtype) {
  CAPTURE(test.shape.to_string());
  CAPTURE(Shape(test.axes).to_string());
  CAPTURE(dtype);
  for (const std::string op : kOps) {
    CAPTURE(op);
    const Tensor x =
        op == "reduce_prod" ? for_products(test.shape, dtype) : random_tensor(test.shape, dtype, 3);
    std::vector<double> expected = reference(op, x, test.axes);
    if (!is_floating(dtype)) {
      // Integers wrap around; int64 holds these sums and products.
      expected = values_of(dispatch_dtype(dtype, [&]<class T>(T) {
        Tensor wrapped = Tensor::empty({static_cast<int64_t>(expected.size())}, dtype);
        for (size_t i = 0; i < expected.size(); ++i) {
          if constexpr (std::is_integral_v<T>) {
            wrapped.mutable_data<T>()[i] = static_cast<T>(static_cast<int64_t>(expected[i]));
          }
        }
        return wrapped;
      }));
    }
    const double terms = static_cast<double>(x.num_elements()) /
                         static_cast<double>(std::max<size_t>(1, expected.size()));
    // Sums of numbers of either sign cancel: the error scales with the size of the terms. Products
    // are rounded once per factor.
    const double slack = op == "reduce_sum" || op == "reduce_prod" ? std::sqrt(terms) : 0;
    const double tolerance = tolerance_of(dtype) * (size_of(dtype) == 2 ? 1 : slack);
    check_close(reduce(op, x, test.axes), expected,
                op == "reduce_max" || op == "reduce_min" ? 0 : tolerance);
    check_close(reduce(op, x, test.axes, true), expected,
                op == "reduce_max" || op == "reduce_min" ? 0 : tolerance);
  }
}

TEST_CASE("reductions over any axes, of every dtype") {
  for (int d = 0; d < kNumDTypes; ++d) {
    const auto dtype = static_cast<DType>(d);
    if (dtype == DType::Bool) continue;
    for (const ReduceCase& test : kCases) check_case(test, dtype);
  }
}

TEST_CASE("reductions on every instruction set") {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::Float32, DType::Float64, DType::Int32}) {
      for (const ReduceCase& test : kCases) check_case(test, dtype);
    }
  });
}

TEST_CASE("any and all") {
  for (const ReduceCase& test : kCases) {
    CAPTURE(test.shape.to_string());
    std::vector<double> values(static_cast<size_t>(test.shape.num_elements()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = i % 37 == 5;
    const Tensor some = tensor_of(values, test.shape, DType::Bool);
    check_close(reduce("reduce_max", some, test.axes), reference("reduce_max", some, test.axes), 0);
    check_close(reduce("reduce_min", some, test.axes), reference("reduce_min", some, test.axes), 0);
  }
  CHECK(kernels().make("reduce_sum", {random_tensor({4}, DType::Bool, 1)},
                       {{"axes", Ints{0}}, {"keepdims", false}}, {{DType::Bool, {}}}) == nullptr);
}

TEST_CASE("reductions of nothing give the neutral element") {
  for (int d = 0; d < kNumDTypes; ++d) {
    const auto dtype = static_cast<DType>(d);
    if (dtype == DType::Bool) continue;
    for (const std::string op : kOps) {
      CAPTURE(op);
      const Tensor x = Tensor::empty({3, 0, 2}, dtype);
      for (const Ints& axes : {Ints{1}, Ints{0, 1}, Ints{0, 1, 2}}) {
        check_close(reduce(op, x, axes), reference(op, x, axes), 0);
      }
      CHECK(reduce(op, x, {0}).num_elements() == 0);
    }
  }
}

TEST_CASE("maxima and minima hand on NaN and infinities") {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::Float32, DType::Float64, DType::BFloat16}) {
      for (const int64_t size : {3, 17, 500, 9000}) {
        for (const int64_t place : {int64_t{0}, size / 2, size - 1}) {
          std::vector<double> values(static_cast<size_t>(size), -kInfinity);
          const Tensor low = tensor_of(values, {size}, dtype);
          check_close(reduce("reduce_max", low, {0}), {-kInfinity}, 0);
          values[static_cast<size_t>(place)] = kNan;
          for (const Shape& shape : {Shape{size}, Shape{size, 1}, Shape{1, size}}) {
            const Tensor x = tensor_of(values, shape, dtype);
            const Ints all = shape.rank() == 1 ? Ints{0} : Ints{0, 1};
            check_close(reduce("reduce_max", x, all), {kNan}, 0);
            check_close(reduce("reduce_min", x, all), {kNan}, 0);
          }
          const Tensor twice = tensor_of(values, {size, 1}, dtype);
          check_close(reduce("reduce_max", twice, {1}), values, 0);
        }
      }
    }
  });
}

TEST_CASE("long float32 sums stay accurate") {
  const int64_t size = 3000000;
  Tensor x = Tensor::empty({size}, DType::Float32);
  PhiloxEngine engine(11);
  double sum = 0;
  for (float& value : x.mutable_data<float>()) {
    value = static_cast<float>(engine.uniform());
    sum += double{value};
  }
  CHECK(std::abs(reduce("reduce_sum", x, {0}).item<double>() / sum - 1) < 2e-7);
  const Tensor columns = x.with_shape({size / 3, 3});
  const auto total = reduce("reduce_sum", columns, {0});
  double columns_sum = 0;
  for (const double value : values_of(total)) columns_sum += value;
  CHECK(std::abs(columns_sum / sum - 1) < 3e-7);
}

TEST_CASE("reductions have the same bits on any number of threads") {
  for (const DType dtype : {DType::Float32, DType::BFloat16}) {
    for (const ReduceCase& test : kCases) {
      const Tensor x = random_tensor(test.shape, dtype, 9);
      check_thread_independent(kernels(), "reduce_sum", {x},
                               {{"axes", test.axes}, {"keepdims", false}},
                               {{dtype, reduced_shape(test.shape, test.axes, false)}});
    }
  }
  const Tensor large = random_tensor({400, 1000}, DType::Float32, 9);
  for (const Ints& axes : {Ints{0}, Ints{1}, Ints{0, 1}}) {
    check_thread_independent(kernels(), "reduce_sum", {large}, {{"axes", axes}, {"keepdims", true}},
                             {{DType::Float32, reduced_shape(large.shape(), axes, true)}});
  }
}

// ---- along one axis ----

const Shape kScanShapes[] = {{1},       {9},       {1000},       {64, 10}, {5, 300},
                             {19, 100}, {4, 5, 6}, {3, 70, 600}, {2, 0, 3}};

// Calls `use(index of the first element, stride)` for each line along `axis`.
template <class F>
void for_each_line(const Shape& shape, int64_t axis, F use) {
  const int64_t inner = shape.slice(axis + 1).num_elements();
  for (int64_t outer = 0; outer < shape.slice(0, axis).num_elements(); ++outer) {
    for (int64_t j = 0; j < inner; ++j) use(outer * shape[axis] * inner + j, inner);
  }
}

TEST_CASE("argmax and argmin give the first extreme") {
  for (int d = 0; d < kNumDTypes; ++d) {
    const auto dtype = static_cast<DType>(d);
    for (const Shape& shape : kScanShapes) {
      for (int64_t axis = 0; axis < shape.rank(); ++axis) {
        if (shape[axis] == 0) continue;
        CAPTURE(shape.to_string());
        CAPTURE(axis);
        const Tensor x = random_tensor(shape, dtype, 21);
        const std::vector<double> values = values_of(x);
        std::vector<double> largest, smallest;
        for_each_line(shape, axis, [&](int64_t first, int64_t step) {
          int64_t high = 0, low = 0;
          for (int64_t i = 1; i < shape[axis]; ++i) {
            const double value = values[size_t(first + i * step)];
            if (value > values[size_t(first + high * step)]) high = i;
            if (value < values[size_t(first + low * step)]) low = i;
          }
          largest.push_back(static_cast<double>(high));
          smallest.push_back(static_cast<double>(low));
        });
        const TensorType out{DType::Int32, reduced_shape(shape, {axis}, false)};
        check_close(kernels().run("argmax", {x}, {{"axis", axis}}, {out})[0], largest, 0);
        check_close(kernels().run("argmin", {x}, {{"axis", axis}}, {out})[0], smallest, 0);
      }
    }
  }
}

TEST_CASE("argmax and argmin take the first NaN") {
  for (const int64_t size : {5, 200}) {
    for (const bool columns : {false, true}) {
      std::vector<double> values(static_cast<size_t>(size), 1.0);
      values[3] = values[4] = kNan;
      values[2] = kInfinity;
      const Shape shape = columns ? Shape{size, 1, 1} : Shape{1, size};
      const int64_t axis = columns ? 0 : 1;
      const Tensor x = tensor_of(values, shape, DType::Float32);
      const TensorType out{DType::Int32, reduced_shape(shape, {axis}, false)};
      CHECK(kernels().run("argmax", {x}, {{"axis", axis}}, {out})[0].item<int>() == 3);
      CHECK(kernels().run("argmin", {x}, {{"axis", axis}}, {out})[0].item<int>() == 3);
    }
  }
}

TEST_CASE("cumsum along any axis, either way") {
  for (int d = 1; d < kNumDTypes; ++d) {
    const auto dtype = static_cast<DType>(d);
    for (const Shape& shape : kScanShapes) {
      if (shape[0] > 500 && size_of(dtype) == 2) continue;  // beyond their accuracy
      for (int64_t axis = 0; axis < shape.rank(); ++axis) {
        for (const bool exclusive : {false, true}) {
          for (const bool reverse : {false, true}) {
            CAPTURE(shape.to_string());
            const Tensor x = random_tensor(shape, dtype, 31);
            std::vector<double> expected = values_of(x);
            for_each_line(shape, axis, [&](int64_t first, int64_t step) {
              double sum = 0;
              for (int64_t i = 0; i < shape[axis]; ++i) {
                double& at = expected[size_t(first + (reverse ? shape[axis] - 1 - i : i) * step)];
                const double before = sum;
                sum += at;
                at = exclusive ? before : sum;
              }
            });
            if (size_of(dtype) == 1) {
              for (double& value : expected) {
                value = dtype == DType::UInt8 ? double(uint8_t(int(value)))
                                              : double(int8_t(int(value)));
              }
            }
            const Tensor y = kernels().run(
                "cumsum", {x}, {{"axis", axis}, {"exclusive", exclusive}, {"reverse", reverse}},
                {type_of(x)})[0];
            check_close(y, expected, size_of(dtype) == 2 ? 1e-2 : is_floating(dtype) ? 1e-6 : 0);
          }
        }
      }
    }
  }
}

TEST_CASE("cumprod along any axis multiplies one after the other, as NumPy does") {
  for (int d = 1; d < kNumDTypes; ++d) {
    const auto dtype = static_cast<DType>(d);
    for (const Shape& shape : kScanShapes) {
      for (int64_t axis = 0; axis < shape.rank(); ++axis) {
        CAPTURE(fmt::format("{} {} {}", dtype, shape, axis));
        const Tensor x = random_tensor(shape, dtype, 32);
        const Attributes running{{"axis", axis}, {"exclusive", false}, {"reverse", false}};
        const Tensor y = kernels().run("cumprod", {x}, running, {type_of(x)})[0];
        dispatch_dtype(dtype, [&]<class T>(T) {
          if constexpr (!std::is_same_v<T, bool>) {
            // In float32, where 16-bit products are kept; integers wrap around.
            using Wide =
                std::conditional_t<std::is_same_v<T, double>, double,
                                   std::conditional_t<std::is_integral_v<T>, uint64_t, float>>;
            std::vector<T> expected = x.to_vector<T>();
            for_each_line(shape, axis, [&](int64_t first, int64_t step) {
              Wide product = 1;
              for (int64_t i = 0; i < shape[axis]; ++i) {
                T& at = expected[size_t(first + i * step)];
                product *= static_cast<Wide>(at);
                at = static_cast<T>(product);
              }
            });
            CHECK((expected.empty() || std::memcmp(y.raw(), expected.data(), y.bytes()) == 0));
          }
        });
      }
    }
  }
}

TEST_CASE("argsort is stable, with NaN behind all others") {
  for (int d = 0; d < kNumDTypes; ++d) {
    const auto dtype = static_cast<DType>(d);
    for (const Shape& shape : kScanShapes) {
      for (int64_t axis = 0; axis < shape.rank(); ++axis) {
        for (const bool descending : {false, true}) {
          CAPTURE(shape.to_string());
          const Tensor x = random_tensor(shape, dtype, 41);
          const std::vector<double> values = values_of(x);
          std::vector<double> expected(values.size());
          for_each_line(shape, axis, [&](int64_t first, int64_t step) {
            std::vector<int64_t> order(static_cast<size_t>(shape[axis]));
            std::iota(order.begin(), order.end(), 0);
            std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
              const double left = values[size_t(first + a * step)];
              const double right = values[size_t(first + b * step)];
              return descending ? left > right : left < right;
            });
            for (size_t i = 0; i < order.size(); ++i) {
              expected[size_t(first) + i * size_t(step)] = static_cast<double>(order[i]);
            }
          });
          check_close(kernels().run("argsort", {x}, {{"axis", axis}, {"descending", descending}},
                                    {{DType::Int32, shape}})[0],
                      expected, 0);
        }
      }
    }
  }
  const Tensor x = tensor_of({kNan, 2, kInfinity, kNan, -1}, {5}, DType::Float32);
  const TensorType out{DType::Int32, {5}};
  const auto sorted = [&](bool descending) {
    return kernels()
        .run("argsort", {x}, {{"axis", int64_t{0}}, {"descending", descending}}, {out})[0]
        .to_vector<int32_t>();
  };
  CHECK(sorted(false) == std::vector<int32_t>{4, 1, 2, 0, 3});
  CHECK(sorted(true) == std::vector<int32_t>{0, 3, 2, 1, 4});
}

TEST_CASE("argsort of long rows: zeros of both signs are equal, NaN comes behind infinity") {
  constexpr double kValues[] = {kNan, 0.0, -0.0, -kInfinity, kInfinity, -1e-40, 2, -2};
  for (const DType dtype : {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16}) {
    std::vector<double> values;
    for (int64_t i = 0; i < 2 * 400; ++i) values.push_back(kValues[i * i % 11 % 8]);
    const Tensor x = tensor_of(values, {2, 400}, dtype);
    const std::vector<double> rounded = values_of(x);
    for (const bool descending : {false, true}) {
      const Tensor order =
          kernels().run("argsort", {x}, {{"axis", int64_t{1}}, {"descending", descending}},
                        {{DType::Int32, x.shape()}})[0];
      const auto before = [](double a, double b) {
        return a < b || (std::isnan(b) && !std::isnan(a));
      };
      for (int64_t row = 0; row < 2; ++row) {
        const double* line = rounded.data() + row * 400;
        std::vector<int32_t> expected(400);
        std::iota(expected.begin(), expected.end(), 0);
        std::ranges::stable_sort(expected, [&](int32_t a, int32_t b) {
          return descending ? before(line[b], line[a]) : before(line[a], line[b]);
        });
        CHECK(order.rows(row, row + 1).to_vector<int32_t>() == expected);
      }
    }
  }
}

// The first places are those of the whole order, however few: in rows long enough for selection and
// in shorter ones; with falling and rising elements, all of which are candidates, and with equal
// ones.
TEST_CASE("the first places of an order are its beginning") {
  constexpr double kValues[] = {kNan, 0.0, -0.0, -kInfinity, kInfinity, -1e-40, 2, -2};
  for (int d = 0; d < kNumDTypes; ++d) {
    const auto dtype = static_cast<DType>(d);
    std::vector<Tensor> arrays;
    for (const int64_t count : {7, 8, 9, 63, 1000, 1001}) {
      arrays.push_back(random_tensor({3, count}, dtype, 43));
      arrays.push_back(random_tensor({2, count, 3}, dtype, 44));
      std::vector<double> rising, special;
      for (int64_t i = 0; i < 2 * count; ++i) {
        rising.push_back(static_cast<double>(i % count / 9));
        special.push_back(is_floating(dtype) ? kValues[i * i % 11 % 8] : double(i % 2));
      }
      arrays.push_back(tensor_of(rising, {2, count}, dtype));
      arrays.push_back(tensor_of(special, {2, count}, dtype));
    }
    for (const Tensor& x : arrays) {
      for (const bool descending : {false, true}) {
        const Attributes attributes{{"axis", int64_t{1}}, {"descending", descending}};
        const Tensor order =
            kernels().run("argsort", {x}, attributes, {{DType::Int32, x.shape()}})[0];
        const std::vector<double> all = values_of(order);
        for (const int64_t first :
             {int64_t{0}, int64_t{1}, int64_t{5}, int64_t{100}, x.shape()[1]}) {
          if (first > x.shape()[1]) continue;
          CAPTURE(fmt::format("{} {} of {}", first, dtype, x.shape()));
          Shape shape = x.shape();
          shape[1] = first;
          std::vector<double> expected;
          const auto inner = static_cast<size_t>(x.shape().slice(2).num_elements());
          const auto block = static_cast<size_t>(x.shape()[1]) * inner;
          for (size_t at = 0; at < all.size(); at += block) {
            const auto* begin = all.data() + at;
            expected.insert(expected.end(), begin, begin + static_cast<size_t>(first) * inner);
          }
          Attributes some = attributes;
          some.set("first", first);
          check_close(kernels().run("argsort", {x}, some, {{DType::Int32, shape}})[0], expected, 0);
        }
      }
    }
  }
}

TEST_CASE("scans have the same bits on any number of threads") {
  const Tensor x = random_tensor({30, 70, 20}, DType::Float32, 51);
  const Attributes sum{{"axis", int64_t{1}}, {"exclusive", false}, {"reverse", false}};
  check_thread_independent(kernels(), "cumsum", {x}, sum, {type_of(x)});
  check_thread_independent(kernels(), "cumprod", {x}, sum, {type_of(x)});
  for (const int64_t rows : {5, 37}) {
    check_thread_independent(kernels(), "cumsum", {random_tensor({rows, 2000}, DType::Float32, 52)},
                             sum, {{DType::Float32, {rows, 2000}}});
  }
  check_thread_independent(kernels(), "argmax", {x}, {{"axis", int64_t{1}}},
                           {{DType::Int32, {30, 20}}});
  check_thread_independent(kernels(), "argsort", {x}, {{"axis", int64_t{2}}, {"descending", false}},
                           {{DType::Int32, x.shape()}});
  check_thread_independent(kernels(), "argsort", {random_tensor({40, 1000}, DType::Float32, 53)},
                           {{"axis", int64_t{1}}, {"descending", true}, {"first", int64_t{9}}},
                           {{DType::Int32, {40, 9}}});
}

}  // namespace
}  // namespace cornu::cpu::testing
