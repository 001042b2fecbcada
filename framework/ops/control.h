// SPDX-License-Identifier: Apache-2.0
// Control flow. On values, branches and bodies run as plain C++. Under a trace with a symbolic
// predicate they become sub-graphs, which may read variables; the branches of a cond may also
// assign them. On placeholders of a functional model they form one layer, which keeps the
// functions: everything these capture must live as long, and the architecture of such a model can't
// be saved.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::ops {

// Returns x, without letting gradients flow through it.
Tensor stop_gradient(const Tensor& x);

// Returns true_fn() if `pred` (a bool scalar) is true, else false_fn(). Throws InvalidArgument when
// they return different numbers of results, shapes or dtypes, or use a placeholder (ops::switch_
// takes placeholders as operands).
std::vector<Tensor> cond(const Tensor& pred, const std::function<std::vector<Tensor>()>& true_fn,
                         const std::function<std::vector<Tensor>()>& false_fn);
// Overload for a single tensor.
Tensor cond(const Tensor& pred, const std::function<Tensor()>& true_fn,
            const std::function<Tensor()>& false_fn);

using LoopCondition = std::function<Tensor(const std::vector<Tensor>&)>;
using LoopBody = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// Repeats loop_vars = body(loop_vars) while cond(loop_vars) (a bool scalar) is true, at most
// `maximum_iterations` times; the shapes and dtypes of loop_vars must not change. Under a trace it
// has a gradient only if maximum_iterations is given (otherwise the gradient throws Unimplemented):
// the memory that the gradient needs per iteration is reserved for that many iterations. `body` may
// assign variables, whose values both then read; no gradient flows through those. A `cond` that
// assigns one throws FailedPrecondition when traced.
std::vector<Tensor> while_loop(const LoopCondition& cond, const LoopBody& body,
                               const std::vector<Tensor>& loop_vars,
                               std::optional<int64_t> maximum_iterations = {});

}  // namespace cornu::ops
