// SPDX-License-Identifier: Apache-2.0
// Functions of elements, on several threads and in order: what map and the readers of files share.
#pragma once

#include <functional>
#include <optional>

#include "data/node.h"

namespace cornu::data {

// Of an element and its number in the pass. Called by several threads at once.
using NumberedFunction = std::function<Element(const Element& element, int64_t number)>;

// When results are given.
enum class Order {
  Kept,  // as their elements come
  // As they are ready. A position has the numbers of those that were begun, which are made again.
  Any,
};

// `f` of each element of `input`, in order, whatever `calls` is. With more than one, threads of the
// pool work ahead from the first next() on until the stream ends; `input` stays on the thread that
// calls next(). What `f` throws is thrown by next() at that element's place. With kAutotune, how
// far they are ahead is chosen on the way. `pass`: whose stream it is.
StreamPtr<Element> make_parallel_map(StreamPtr<Element> input, NumberedFunction f, int64_t calls,
                                     const Pass& pass = {}, Order order = Order::Kept);

// Are results given in order in this pass? As `deterministic` says, else, with several calls, as
// the pipeline's options do.
bool keeps_order(int64_t calls, const std::optional<bool>& deterministic, const Pass& pass);

// So, whether a link whose order that is gives results as they are ready: where none above cares.
Order order_in(int64_t calls, const std::optional<bool>& deterministic, const Pass& pass);

// The pass of such a link's input: in order where its results aren't, since its positions have
// numbers of elements.
Pass pass_below(Order order, Pass pass);

// `f`, whose errors begin with "who, element 7: ".
NumberedFunction with_place(NumberedFunction f, const char* who);

// num_parallel_calls as a number: 1 for none, and kAutotune as it is. InvalidArgument, naming
// `who`, unless it is kAutotune or at least 1.
int64_t resolve_parallel_calls(const std::optional<int64_t>& calls, const char* who);

}  // namespace cornu::data
