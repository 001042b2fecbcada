// SPDX-License-Identifier: Apache-2.0
// Loops and choices over functions (keras.ops.core). On values they are run one iteration at a
// time. Under a trace they are one node of the graph, whatever their length: the body is traced
// once, and what it reads from outside isn't copied. Gradients flow through them, of any order;
// variables that the body assigns, and random numbers that it draws, are new in each iteration.
// Values that are carried from one iteration to the next keep their shape and dtype:
// InvalidArgument else. On placeholders of a functional model, map, the scans, loops whose length
// depends on a placeholder, and choices by one are one layer, which keeps the function: what it
// captures must live as long and be no placeholder, and such a model's architecture can't be saved.
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
// yet make it a while_loop without a bound: then there is no gradient through it.
Tensor fori_loop(const Tensor& lower, const Tensor& upper,
                 const std::function<Tensor(const Tensor& i, const Tensor& value)>& body_fun,
                 const Tensor& init_val);
std::vector<Tensor> fori_loop(
    const Tensor& lower, const Tensor& upper,
    const std::function<std::vector<Tensor>(const Tensor& i, const std::vector<Tensor>& values)>&
        body_fun,
    const std::vector<Tensor>& init_val);

// f of each slice along axis 0, stacked. InvalidArgument when there are none, or of different
// numbers.
Tensor map(const std::function<Tensor(const Tensor&)>& f, const Tensor& xs);
std::vector<Tensor> map(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f,
                        const std::vector<Tensor>& xs);
// The same: a slice after the other here.
Tensor vectorized_map(const std::function<Tensor(const Tensor&)>& function, const Tensor& elements);

struct ScanOptions {
  std::optional<int64_t> length = {};  // None: that of xs
  bool reverse = false;                // from the last slice to the first
  // How many iterations of f make one of the loop that is compiled (>= 1), or whether all are
  // written out, one by one.
  std::variant<bool, int64_t> unroll = int64_t{1};
};

// (carry, y) = f(carry, x) for each slice of xs along axis 0 (an undefined x where xs is
// undefined); gives the last carry, and all y stacked in xs's order (undefined where f gives none).
// Of no slices, y has shape (0, ...): f is traced for it, but not run.
std::pair<Tensor, Tensor> scan(
    const std::function<std::pair<Tensor, Tensor>(const Tensor& carry, const Tensor& x)>& f,
    const Tensor& init, const Tensor& xs, const ScanOptions& options = {});
// The same for several carries, xs (none: `length` iterations) and ys, any number of each.
std::pair<std::vector<Tensor>, std::vector<Tensor>> scan(
    const std::function<std::pair<std::vector<Tensor>, std::vector<Tensor>>(
        const std::vector<Tensor>& carries, const std::vector<Tensor>& x)>& f,
    const std::vector<Tensor>& init, const std::vector<Tensor>& xs,
    const ScanOptions& options = {});

// Running results of an associative f along an axis: x0, f(x0, x1), f(f(x0, x1), x2), …, in
// log2(length) calls of f on whole tensors.
Tensor associative_scan(const std::function<Tensor(const Tensor&, const Tensor&)>& f,
                        const Tensor& elems, bool reverse = false, int64_t axis = 0);
// The same of several tensors together, of one size along the axis: f gives as many.
using AssociativeFunction =
    std::function<std::vector<Tensor>(const std::vector<Tensor>& a, const std::vector<Tensor>& b)>;
std::vector<Tensor> associative_scan(const AssociativeFunction& f, const std::vector<Tensor>& elems,
                                     bool reverse = false, int64_t axis = 0);

// branches[index](operands); an index outside is moved to the nearest. (keras.ops.switch, whose
// name is a keyword here.) Under a trace, index may be symbolic; then all give the same types.
Tensor switch_(const Tensor& index,
               const std::vector<std::function<Tensor(const std::vector<Tensor>&)>>& branches,
               const std::vector<Tensor>& operands = {});
std::vector<Tensor> switch_(
    const Tensor& index,
    const std::vector<std::function<std::vector<Tensor>(const std::vector<Tensor>&)>>& branches,
    const std::vector<Tensor>& operands = {});

}  // namespace cornu::ops
