// SPDX-License-Identifier: Apache-2.0
// Casts between all dtypes.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/backends/instruction_sets.h"
#include "tests/backends/kernel_run.h"

namespace cornu::cpu::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor cast(const Tensor& x, DType to) {
  static const KernelRunner kernels(register_elementwise_kernels);
  return kernels.run("cast", {x}, {{"dtype", to}}, {{to, x.shape()}})[0];
}

double converted(double value, DType to) {
  if (to == DType::Bool) return value != 0;
  if (is_integer(to)) {
    return dispatch_dtype(to, [&]<class T>(T) -> double {
      if constexpr (std::is_integral_v<T>) return static_cast<double>(wrapped<T>(value));
      return 0;
    });
  }
  return values_of(tensor_of({value}, {1}, to))[0];
}

TEST_CASE("cast between all dtypes") {
  for_each_instruction_set([] {
    for (int from = 0; from < kNumDTypes; ++from) {
      std::vector<double> values;
      for (int i = 0; i < 203; ++i) {
        values.push_back(from == 0 ? i % 2 : is_floating(static_cast<DType>(from)) ? i * 0.37 : i);
      }
      const Tensor x = tensor_of(values, {203}, static_cast<DType>(from));
      for (int to = 0; to < kNumDTypes; ++to) {
        CAPTURE(static_cast<DType>(from));
        CAPTURE(static_cast<DType>(to));
        std::vector<double> expected;
        for (const double value : values_of(x)) {
          const bool too_large = static_cast<DType>(to) == DType::Int8 && value > 127;
          const bool saturates = too_large && is_floating(static_cast<DType>(from));
          const double held = too_large && !saturates ? value - 256 : value;
          expected.push_back(saturates ? 127 : converted(held, static_cast<DType>(to)));
        }
        check_close(cast(x, static_cast<DType>(to)), expected, 0);
      }
    }
  });
}

TEST_CASE("casts of what integers don't hold give the nearest one, of NaN zero") {
  for_each_instruction_set([] {
    const std::vector<double> values = {kNan,  kInfinity,    -kInfinity, 1e30,
                                        -1e30, 2147483648.0, -1.9};
    for (const DType from : {DType::Float32, DType::Float64}) {
      const Tensor x = tensor_of(values, {7}, from);
      const Tensor y = cast(x, DType::Int32);
      const int32_t high = std::numeric_limits<int32_t>::max();
      const int32_t low = std::numeric_limits<int32_t>::lowest();
      CHECK(y.to_vector<int32_t>() == std::vector<int32_t>{0, high, low, high, low, high, -1});
      check_close(cast(x, DType::Bool), {1, 1, 1, 1, 1, 1, 1}, 0);
      const Tensor z = cast(x, DType::UInt8);
      CHECK(z.to_vector<uint8_t>() == std::vector<uint8_t>{0, 255, 0, 255, 0, 255, 0});
    }
  });
}

TEST_CASE("16-bit numbers are rounded as core rounds them") {
  std::vector<double> values;
  for (int i = 0; i < 5000; ++i) {
    values.push_back(std::ldexp(1 + i / 5000.0, i % 60 - 30) * (i % 2 ? 1 : -1));
  }
  values.insert(values.end(), {kInfinity, -kInfinity, 0, 65519, 65520, 1e-8, 3e-8, 6e-8});
  const Shape shape{static_cast<int64_t>(values.size())};
  const Tensor x = tensor_of(values, shape, DType::Float32);
  for_each_instruction_set([&] {
    for (const DType dtype : {DType::Float16, DType::BFloat16}) {
      const Tensor y = cast(x, dtype);
      const Tensor expected = tensor_of(values_of(x), shape, dtype);
      CHECK(std::memcmp(y.raw(), expected.raw(), y.bytes()) == 0);
      const Tensor back = cast(y, DType::Float32);
      check_close(back, values_of(expected), 0);
    }
  });
}

}  // namespace
}  // namespace cornu::cpu::testing
