// SPDX-License-Identifier: Apache-2.0
// Devices of two backends in one program.
#pragma once

#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace cornu::test {

// Checks that tensors on the device `from`, of one backend, can be used in computations on `to`, a
// device of another backend.
inline void check_copies_between(const std::string& from, const std::string& to) {
  CAPTURE(from);
  CAPTURE(to);
  const Tensor there = Tensor::from({1.0f, 2.0f, 3.0f}).to(from);
  const Tensor copy = there.to(to);
  CHECK(copy.device() == Device::parse(to));
  CHECK(copy.to_vector<float>() == std::vector<float>{1, 2, 3});
  // An eager op's input that may be moved to the device of the others.
  const Tensor loose = [&] {
    const DeviceScope scope(from);
    const Tensor made = ops::ones({3});
    const Tensor sum = made + copy;
    CHECK(sum.device() == copy.device());
    CHECK(sum.to_vector<float>() == std::vector<float>{2, 3, 4});
    return made;
  }();
  CHECK(loose.device() == Device::parse(from));
  // Inputs of functions.
  const Variable w = [&] {
    const DeviceScope scope(to);
    return Variable(ops::ones({3}));
  }();
  const Function f = function([&](const Tensor& x, const Tensor& y) { return x * w + y; });
  const Tensor result = f(there, Tensor::from({10.0f, 10.0f, 10.0f})).single();
  CHECK(result.device() == Device::parse(to));
  CHECK(result.to_vector<float>() == std::vector<float>{11, 12, 13});
}

}  // namespace cornu::test
