// SPDX-License-Identifier: Apache-2.0
// Maps a function over elements on several threads, in order; used by map and by the readers of
// files.
#pragma once

#include <functional>
#include <optional>

#include "data/node.h"

namespace cornu::data {

// Takes an element and its number in the pass. Called by several threads concurrently.
using NumberedFunction = std::function<Element(const Element& element, int64_t number)>;

// The order in which results are returned.
enum class Order {
  Kept,  // in the order of their elements
  // As soon as they are ready. A position contains the numbers of the started elements, which are
  // computed again.
  Any,
};

// Applies `f` to each element of `input`, in order, regardless of `calls`. If `calls` is more than
// one, threads of the pool work ahead from the first next() until the stream ends; `input` is used
// only on the thread that calls next(). Exceptions thrown by `f` are thrown by next() at the
// position of their element. With kAutotune, the number of elements in flight is adapted over time.
// `pass` is the pass that the stream belongs to.
StreamPtr<Element> make_parallel_map(StreamPtr<Element> input, NumberedFunction f, int64_t calls,
                                     const Pass& pass = {}, Order order = Order::Kept);

// Whether results are returned in order in this pass: as `deterministic` says; if it isn't set and
// there are several calls, as the pipeline's options say.
bool keeps_order(int64_t calls, const std::optional<bool>& deterministic, const Pass& pass);

// The resulting order: Order::Any if order need not be kept and no downstream link depends on it.
Order order_in(int64_t calls, const std::optional<bool>& deterministic, const Pass& pass);

// The pass for the input of a link with this order: if its results come in any order, its input
// must come in order, since its positions contain element numbers.
Pass pass_below(Order order, Pass pass);

// Returns `f` with "who, element 7: " prepended to the messages of its errors.
NumberedFunction with_place(NumberedFunction f, const char* who);

// num_parallel_calls as a number: 1 for nullopt, and kAutotune unchanged. Throws InvalidArgument,
// naming `who`, unless it is kAutotune or at least 1.
int64_t resolve_parallel_calls(const std::optional<int64_t>& calls, const char* who);

}  // namespace cornu::data
