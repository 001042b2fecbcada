// SPDX-License-Identifier: Apache-2.0
// Jacobian-vector products: derivatives in one direction (keras.ops.jvp).
#pragma once

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::ops {

namespace internal {
using FunctionOfTensors = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
std::pair<std::vector<Tensor>, std::vector<Tensor>> jvp(const FunctionOfTensors& f,
                                                        const std::vector<Tensor>& primals,
                                                        const std::vector<Tensor>& tangents);
}  // namespace internal

// Returns f(primal), and how it changes along `tangent`: the product of the Jacobian at `primal`
// with `tangent`, a tensor of the output's shape and dtype (zeros where the output doesn't depend
// on the argument, or isn't of a floating-point dtype). `f` consists of ops; what it captures, and
// the variables that it reads, are constants.
//
//   auto [y, change] = ops::jvp([](const Tensor& x) { return ops::sin(x); }, x, ops::ones_like(x));
//
// Works on values and in traces, and is itself differentiable. Costs about as much as two
// gradients: it is the gradient of a gradient, which is linear in what flows back. Throws
// InvalidArgument when a tangent doesn't have its primal's shape and dtype, or that isn't a
// floating-point dtype; Unimplemented, naming the op, when f has an op that can't be differentiated
// twice.
template <class F, class Primal>
requires(std::convertible_to<Primal, Tensor>&& std::is_invocable_r_v<Tensor, F&, const Tensor&>)
    std::pair<Tensor, Tensor> jvp(F f, const Primal& primal, const Tensor& tangent) {
  auto [outputs, changes] = internal::jvp(
      [&](const std::vector<Tensor>& in) { return std::vector<Tensor>{f(in.front())}; }, {primal},
      {tangent});
  return {std::move(outputs.front()), std::move(changes.front())};
}

// Overload for functions of several tensors, with several outputs.
template <class F, class Primals = std::vector<Tensor>>
requires(std::convertible_to<Primals, std::vector<Tensor>>&&
             std::is_invocable_r_v<std::vector<Tensor>, F&, const std::vector<Tensor>&>)
    std::pair<std::vector<Tensor>, std::vector<Tensor>> jvp(F f, const Primals& primals,
                                                            const std::vector<Tensor>& tangents) {
  return internal::jvp([&](const std::vector<Tensor>& in) { return f(in); }, primals, tangents);
}

}  // namespace cornu::ops
