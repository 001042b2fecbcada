// SPDX-License-Identifier: Apache-2.0
// Control flow. On values the branches and bodies run as plain C++; under a trace whose predicate
// is symbolic they become sub-graphs, which may read variables; cond's may assign them too. On
// placeholders of a functional model they are one layer, which keeps the functions: what these
// capture must live as long, and such a model's architecture can't be saved.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::ops {

// x, but no gradient flows through it.
Tensor stop_gradient(const Tensor& x);

// true_fn() where `pred` (a bool scalar) holds, else false_fn(). InvalidArgument when they return
// different numbers, shapes or dtypes, or use a placeholder (ops::switch_ takes some as operands).
std::vector<Tensor> cond(const Tensor& pred, const std::function<std::vector<Tensor>()>& true_fn,
                         const std::function<std::vector<Tensor>()>& false_fn);
// The same for one tensor.
Tensor cond(const Tensor& pred, const std::function<Tensor()>& true_fn,
            const std::function<Tensor()>& false_fn);

using LoopCondition = std::function<Tensor(const std::vector<Tensor>&)>;
using LoopBody = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// Repeats loop_vars = body(loop_vars) while cond(loop_vars) (a bool scalar) holds, at most
// `maximum_iterations` times; shapes and dtypes of loop_vars must not change. Under a trace it has
// a gradient only if maximum_iterations is given (else Unimplemented): memory for what the gradient
// needs of each iteration is reserved for that many.
std::vector<Tensor> while_loop(const LoopCondition& cond, const LoopBody& body,
                               const std::vector<Tensor>& loop_vars,
                               std::optional<int64_t> maximum_iterations = {});

}  // namespace cornu::ops
