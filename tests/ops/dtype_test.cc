// SPDX-License-Identifier: Apache-2.0
// Weak scalars, promotion and operators.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

#include "framework/core/variable.h"
#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"

namespace cornu::testing {
namespace {

TEST_CASE("a C++ scalar takes the dtype of the tensor it meets") {
  for (const DType dtype : {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64}) {
    const Tensor x = ops::ones({2}, dtype);
    CHECK((x / 255.0f).dtype() == dtype);
    CHECK((x * 2).dtype() == dtype);
    CHECK((1 - x).dtype() == dtype);
    CHECK(ops::where(x > 0, x, 0).dtype() == dtype);
    CHECK(ops::clip(x, -1, 0.5).dtype() == dtype);
  }
  for (const DType dtype : {DType::UInt8, DType::Int8, DType::Int32, DType::Int64, DType::UInt32}) {
    const Tensor x = ops::ones({2}, dtype);
    CHECK((x + 1).dtype() == dtype);
    CHECK(ops::mod(x, 2).dtype() == dtype);
    CHECK((x * 0.5).dtype() == DType::Float32);
    CHECK((x / 2).dtype() == DType::Float32);
  }
  const Tensor flags = ops::ones({2}, DType::Bool);
  CHECK((flags + 1).dtype() == DType::Int32);
  CHECK((flags * 0.5).dtype() == DType::Float32);
  CHECK((flags + flags).dtype() == DType::Int32);
  CHECK((Tensor(2) + Tensor(3)).dtype() == DType::Int32);
  CHECK((Tensor(2) + Tensor(3.5)).item<double>() == 5.5);
}

TEST_CASE("a C++ double keeps its digits beside float64") {
  const Tensor x = Tensor::from(std::vector<double>{1});
  CHECK((x * 0.1).item<double>() == 0.1);
  CHECK(ops::full({1}, 0.1, DType::Float64).item<double>() == 0.1);
}

TEST_CASE("a C++ number beyond int64 stays the number it is") {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  CHECK(ops::full({1}, kMax, DType::Float32).item<double>() == 0x1p64);
  CHECK(ops::full({1}, kMax, DType::UInt64).item<uint64_t>() == kMax);
  CHECK(Tensor(kMax).dtype() == DType::UInt64);
  const Tensor x = ops::zeros({1}, DType::UInt64);
  CHECK((x + (kMax - 1)).item<uint64_t>() == kMax - 1);
  CHECK((ops::zeros({1}) + kMax).item<double>() == 0x1p64);
  CHECK((x < kMax).item<int>() == 1);
  CHECK((x + 5U).dtype() == DType::UInt64);
  CHECK(Tensor(5U).dtype() == DType::Int32);
  CHECK(message_of<InvalidArgument>([&] {
          return ops::zeros({1}, DType::Int64) + kMax;
        }).find("add: the number 18446744073709551615 doesn't fit the tensor's dtype int64") == 0);
  const Variable v(x[0]);
  v.assign(kMax);
  CHECK(v.item<uint64_t>() == kMax);
}

TEST_CASE("an integer that doesn't fit is an error, not another number") {
  const Tensor x = ops::ones({2}, DType::UInt8);
  CHECK(message_of<InvalidArgument>([&] { return x + 300; }) ==
        "add: the number 300 doesn't fit the tensor's dtype uint8. Cast the tensor first, for "
        "example with ops::cast(x, DType::Int64).");
  CHECK(message_of<InvalidArgument>([&] {
          return x < -1;
        }).find("less: the number -1 doesn't fit the tensor's dtype uint8") == 0);
  CHECK((ops::cast(x, DType::Int32) + 300).dtype() == DType::Int32);
}

TEST_CASE("different dtypes promote") {
  const Tensor i32 = ops::ones({2}, DType::Int32);
  CHECK((i32 + ops::ones({2}, DType::UInt8)).dtype() == DType::Int32);
  CHECK((i32 + ops::ones({2}, DType::Float16)).dtype() == DType::Float16);
  CHECK((ops::ones({2}, DType::Float16) + ops::ones({2}, DType::BFloat16)).dtype() ==
        DType::Float32);
  CHECK(ops::concatenate({i32, ops::ones({2}, DType::Int64)}).dtype() == DType::Int64);
  CHECK(ops::matmul(ops::ones({2, 2}), ops::ones({2, 2}, DType::Float64)).dtype() ==
        DType::Float64);
}

TEST_CASE("beside a 16-bit float, integers take its dtype in real functions") {
  const Tensor whole = ops::ones({2}, DType::Int32);
  for (const DType dtype : {DType::BFloat16, DType::Float16}) {
    const Tensor half = ops::ones({2}, dtype);
    for (const auto& f : {ops::logaddexp, ops::logaddexp2, ops::divide_no_nan, ops::divide}) {
      CHECK(f(half, whole).dtype() == dtype);
      CHECK(f(whole, half).dtype() == dtype);
    }
  }
}

TEST_CASE("real functions turn integers into float32") {
  const Tensor x = Tensor::from(std::vector<int32_t>{0, 1, 4});
  check_values(ops::sqrt(x), {3}, {0, 1, 2});
  CHECK(ops::sqrt(x).dtype() == DType::Float32);
  CHECK(ops::floor(x).dtype() == DType::Float32);
  CHECK(ops::round(x).dtype() == DType::Int32);
  CHECK(ops::abs(x).dtype() == DType::Int32);
  CHECK(ops::sigmoid(x).dtype() == DType::Float32);
  CHECK(ops::softmax(x).dtype() == DType::Float32);
}

TEST_CASE("bools stay bools where Keras's do") {
  const Tensor x = Tensor::from(std::vector<bool>{true, false, true, true}, {2, 2});
  const auto values = [](const Tensor& result) {
    CHECK(result.dtype() == DType::Bool);
    return ops::cast(result, DType::Int32).to_vector<int32_t>();
  };
  using Ints = std::vector<int32_t>;
  CHECK(values(ops::tril(x, -1)) == Ints{0, 0, 1, 0});
  CHECK(values(ops::triu(x)) == Ints{1, 0, 0, 1});
  CHECK(values(ops::abs(x)) == Ints{1, 0, 1, 1});
  CHECK(values(ops::matmul(x, x)) == Ints{1, 0, 1, 1});
}

TEST_CASE("operators on tensors, variables and scalars") {
  const Tensor x = Tensor::from(std::vector<float>{1, 2});
  const Variable v(Tensor::from(std::vector<float>{3, 5}));
  check_values(x + v, {2}, {4, 7});
  check_values(v * v, {2}, {9, 25});
  check_values(v - 1, {2}, {2, 4});
  check_values(10 / x, {2}, {10, 5});
  check_values(-v, {2}, {-3, -5});
  check_values(x < 2, {2}, {1, 0});
  check_values(v >= 5, {2}, {0, 1});
  check_values(2 > x, {2}, {1, 0});
  check_values(x <= v, {2}, {1, 1});
  Tensor total = 0.0f;
  total += x;
  total *= 2;
  total -= v;
  total /= 2;
  check_values(total, {2}, {-0.5, -0.5});
}

TEST_CASE("16-bit floats: means are computed in float32") {
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    const Tensor x = ops::full({1000, 2}, 300.0, dtype);
    const Tensor mean = ops::mean(x, 0);
    CHECK(mean.dtype() == dtype);
    check_values(mean, {2}, {300, 300});
    check_values(ops::var(x, 0), {2}, {0, 0});
  }
}

TEST_CASE("a dtype's name where a dtype is taken") {
  CHECK(ops::empty({2}, "int32").dtype() == DType::Int32);
  CHECK(ops::identity(2, "float64").dtype() == DType::Float64);
  CHECK(ops::convert_to_tensor(1, "bfloat16").dtype() == DType::BFloat16);
  CHECK(ops::saturate_cast(Tensor::from<float>({300}), "uint8").to_vector<uint8_t>()[0] == 255);
  CHECK(ops::cumprod(Tensor::from<int>({2, 3}), 0, "float32").dtype() == DType::Float32);
  CHECK(random::gamma({2}, 1.0, {.dtype = "float64", .seed = 1}).dtype() == DType::Float64);
}

}  // namespace
}  // namespace cornu::testing
