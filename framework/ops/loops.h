// SPDX-License-Identifier: Apache-2.0
// Loops and choices over functions (keras.ops.core). On values, they run one iteration at a time.
// Under a trace, they are one node of the graph, whatever their length: the body is traced once,
// and values it reads from outside aren't copied. Gradients of any order flow through them;
// variables that the body assigns and random numbers that it draws are new in each iteration.
// Values carried from one iteration to the next must keep their shape and dtype; throws
// InvalidArgument otherwise. On placeholders of a functional model, map, the scans, loops whose
// length depends on a placeholder, and choices by one form a single layer, which keeps the
// function: everything it captures must live as long and must not be a placeholder, and the
// architecture of such a model can't be saved.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::ops {

// value = body_fun(i, value) for i = lower, …, upper - 1. Under a trace, bounds that have no value
// yet turn it into an unbounded while_loop, which has no gradient.
Tensor fori_loop(const Tensor& lower, const Tensor& upper,
                 const std::function<Tensor(const Tensor& i, const Tensor& value)>& body_fun,
                 const Tensor& init_val);
std::vector<Tensor> fori_loop(
    const Tensor& lower, const Tensor& upper,
    const std::function<std::vector<Tensor>(const Tensor& i, const std::vector<Tensor>& values)>&
        body_fun,
    const std::vector<Tensor>& init_val);

// Applies f to each slice along axis 0, and stacks the results. Throws InvalidArgument when there
// are no slices, or when the tensors have different numbers of them.
Tensor map(const std::function<Tensor(const Tensor&)>& f, const Tensor& xs);
std::vector<Tensor> map(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f,
                        const std::vector<Tensor>& xs);
// Same as map: one slice after the other.
Tensor vectorized_map(const std::function<Tensor(const Tensor&)>& function, const Tensor& elements);

struct ScanOptions {
  std::optional<int64_t> length = {};  // None: the length of xs
  bool reverse = false;                // from the last slice to the first
  // The number of iterations of f that form one iteration of the compiled loop (>= 1), or whether
  // to unroll all of them.
  std::variant<bool, int64_t> unroll = int64_t{1};
};

// (carry, y) = f(carry, x) for each slice of xs along axis 0 (x is undefined if xs is undefined);
// returns the last carry, and all y stacked in xs's order (undefined if f returns none). For zero
// slices, y has shape (0, ...): f is traced to find it, but not run.
std::pair<Tensor, Tensor> scan(
    const std::function<std::pair<Tensor, Tensor>(const Tensor& carry, const Tensor& x)>& f,
    const Tensor& init, const Tensor& xs, const ScanOptions& options = {});
// Overload for any number of carries, xs (none: `length` iterations) and ys.
std::pair<std::vector<Tensor>, std::vector<Tensor>> scan(
    const std::function<std::pair<std::vector<Tensor>, std::vector<Tensor>>(
        const std::vector<Tensor>& carries, const std::vector<Tensor>& x)>& f,
    const std::vector<Tensor>& init, const std::vector<Tensor>& xs,
    const ScanOptions& options = {});

// Running results of an associative f along an axis: x0, f(x0, x1), f(f(x0, x1), x2), …, in
// log2(length) calls of f on whole tensors.
Tensor associative_scan(const std::function<Tensor(const Tensor&, const Tensor&)>& f,
                        const Tensor& elems, bool reverse = false, int64_t axis = 0);
// Overload for several tensors of the same size along the axis; f returns as many.
using AssociativeFunction =
    std::function<std::vector<Tensor>(const std::vector<Tensor>& a, const std::vector<Tensor>& b)>;
std::vector<Tensor> associative_scan(const AssociativeFunction& f, const std::vector<Tensor>& elems,
                                     bool reverse = false, int64_t axis = 0);

// branches[index](operands); an index out of range is clamped. (keras.ops.switch; `switch` is a
// keyword here.) Under a trace, index may be symbolic; all branches must then return the same
// types.
Tensor switch_(const Tensor& index,
               const std::vector<std::function<Tensor(const std::vector<Tensor>&)>>& branches,
               const std::vector<Tensor>& operands = {});
std::vector<Tensor> switch_(
    const Tensor& index,
    const std::vector<std::function<std::vector<Tensor>(const std::vector<Tensor>&)>>& branches,
    const std::vector<Tensor>& operands = {});

}  // namespace cornu::ops
