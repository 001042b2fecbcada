// SPDX-License-Identifier: Apache-2.0
// Integers of every width in onnxruntime, which has arithmetic for only two of them.
#include <doctest/doctest.h>

#include <limits>
#include <utility>

#include "framework/ops/ops.h"
#include "tests/saving/onnx_cases.h"

namespace cornu::test {
namespace {

// All operations on two integers.
class Arithmetic : public Layer {
 public:
  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    const Tensor& a = inputs[0];
    const Tensor& b = inputs[1];
    std::vector<Tensor> results = {
        a + b,
        a - b,
        a * b,
        ops::floor_divide(a, b),
        ops::mod(a, b),
        a<b, a <= b, a>
            b,
        a >= b,
        a == b,
        ops::not_equal(a, b),
        ops::where(a < b, a, b),
        ops::cast(ops::where(a<b, a> 1, b > 1), a.dtype()),
    };
    if (!is_signed(a.dtype())) {
      const Tensor bits = ops::cast(ops::mod(b, 70), a.dtype());  // also more than the dtype has
      results.push_back(ops::left_shift(a, bits));
      results.push_back(ops::right_shift(a, bits));
      results.push_back(ops::left_shift(a, ops::cast(3, a.dtype())));
    } else if (size_of(a.dtype()) <= 4) {
      for (const int bits : {0, 4, 7}) {
        const Tensor by = ops::cast(bits, a.dtype());
        results.push_back(ops::left_shift(a, by));
        results.push_back(ops::right_shift(a, by));
      }
    }
    return results;
  }
};

template <class T>
void add(OnnxCases& cases) {
  using Limits = std::numeric_limits<T>;
  const std::vector<T> numbers = {Limits::min(),
                                  Limits::max(),
                                  0,
                                  1,
                                  2,
                                  3,
                                  7,
                                  11,
                                  static_cast<T>(Limits::max() / 2),
                                  100,
                                  64,
                                  static_cast<T>(Limits::max() - 1)};
  std::vector<T> left, right;
  for (const T a : numbers) {
    for (const T b : numbers) {
      if (a == Limits::min() && b == static_cast<T>(-1) && b < 0) continue;  // would overflow
      left.push_back(a);
      right.push_back(b);
    }
  }
  const Shape shape = {static_cast<int64_t>(left.size())};
  const Tensor a = Tensor::from(left, shape), b = Tensor::from(right, shape);
  const Tensor x = Input({.shape = Shape(), .dtype = a.dtype(), .name = "a"});
  const Tensor y = Input({.shape = Shape(), .dtype = a.dtype(), .name = "b"});
  Model model({x, y}, make_layer<Arithmetic>()({x, y}));
  cases.add({.name = to_string(a.dtype())}, model, {Tensors({a, b})});
}

TEST_CASE("arithmetic of integers in onnxruntime") {
  OnnxCases cases;
  add<int8_t>(cases);
  add<uint8_t>(cases);
  add<int32_t>(cases);
  add<uint32_t>(cases);
  add<int64_t>(cases);
  add<uint64_t>(cases);
  CHECK(cases.check());
}

}  // namespace
}  // namespace cornu::test
