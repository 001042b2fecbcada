// SPDX-License-Identifier: Apache-2.0
// Serializes traced functions.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/serialization/link.h"
#include "framework/graph/graph.h"

namespace cornu::data {

// A graph on an element's tensors. If it draws random numbers, its last input is the key for them.
struct PortableFunction {
  Graph graph;
  bool has_key = false;
};

using TensorFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// A trace of `f` that is valid for any sizes of the axes that `types` leaves unknown. Throws
// FailedPrecondition, naming `who`, if the graph depends on these sizes.
PortableFunction trace_for_all_sizes(const TensorFunction& f, const std::vector<TensorType>& types,
                                     const std::string& who);

// Large constants become blobs. Throws FailedPrecondition, naming `who` and the variable, for a
// function that reads one.
void write_function(LinkWriter& link, const PortableFunction& function, const std::string& who);

// Reads a function of tensors of these types. Throws InvalidArgument if its inputs have other
// types.
PortableFunction read_function(LinkReader& link, const std::vector<TensorType>& types);

// The types of its results, with kUnknown for axes that depend on those of the inputs. Computes no
// values.
std::vector<TensorType> result_types(const PortableFunction& function,
                                     const std::vector<TensorType>& types);

// A function that applies the ops of `function` again. Random numbers come from the key of the
// trace in which it is called.
TensorFunction replayed(std::shared_ptr<const PortableFunction> function);

}  // namespace cornu::data
