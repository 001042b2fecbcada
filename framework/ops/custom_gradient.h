// SPDX-License-Identifier: Apache-2.0
// Functions with user-defined gradients (keras.ops.custom_gradient).
#pragma once

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::ops {

// Computes the gradients of the arguments from those of the outputs. An undefined tensor represents
// zeros.
using GradientFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>& upstream)>;

struct WithGradient {
  std::vector<Tensor> outputs;
  GradientFunction gradient;
};

namespace internal {
std::vector<Tensor> apply_custom_gradient(
    const std::function<WithGradient(const std::vector<Tensor>&)>& f,
    const std::vector<Tensor>& arguments);

inline std::vector<Tensor> gradient_list(std::vector<Tensor> gradients) { return gradients; }
inline std::vector<Tensor> gradient_list(Tensor gradient) { return {std::move(gradient)}; }
}  // namespace internal

// Returns a function of tensors that computes the same as `f` and has the gradient that `f`
// defines: f returns a pair of its output and a function from the output's gradient to the
// argument's gradient (a vector if there are several arguments).
//
//   auto log1pexp = ops::custom_gradient([](const Tensor& x) {
//     const Tensor e = ops::exp(x);
//     return std::pair{ops::log(1 + e),
//                      [e](const Tensor& upstream) { return upstream * (1 - 1 / (1 + e)); }};
//   });
//   Tensor y = log1pexp(x);
//
// The gradient is written in ops: it may use what f computed, works on values and under a trace,
// and is itself differentiated for higher-order gradients. It is traced at each call rather than
// run, so it can't read values. It only reaches arguments: throws FailedPrecondition when f reads a
// trainable variable (pass it as an argument), and for placeholders (call it within a layer).
// Throws InvalidArgument when a gradient's shape or dtype differs from its argument's.
template <class F>
requires(!std::invocable<F, const std::vector<Tensor>&>) auto custom_gradient(F f) {
  return [f = std::move(
              f)]<std::convertible_to<Tensor>... Arguments>(const Arguments&... arguments)->Tensor {
    auto run =
        [&f]<size_t... kIndex>(const std::vector<Tensor>& x, std::index_sequence<kIndex...>) {
      auto [output, gradient] = f(x[kIndex]...);
      return WithGradient{{std::move(output)},
                          [gradient = std::move(gradient)](const std::vector<Tensor>& upstream) {
                            return internal::gradient_list(gradient(upstream.front()));
                          }};
    };
    return internal::apply_custom_gradient(
               [&](const std::vector<Tensor>& x) {
                 return run(x, std::index_sequence_for<Arguments...>());
               },
               {Tensor(arguments)...})
        .front();
  };
}

// Overload for functions of lists of tensors, with several outputs.
template <class F>
requires std::is_invocable_r_v < WithGradient, F, const std::vector<Tensor>
& > auto custom_gradient(F f) {
  return [f = std::move(f)](const std::vector<Tensor>& arguments) {
    return internal::apply_custom_gradient(f, arguments);
  };
}

}  // namespace cornu::ops
