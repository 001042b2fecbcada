// SPDX-License-Identifier: Apache-2.0
// Traced functions on their way to another process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/serialization/link.h"
#include "framework/graph/graph.h"

namespace cornu::data {

// A graph of an element's tensors, with the key that it draws random numbers from as its last input
// where it draws any.
struct PortableFunction {
  Graph graph;
  bool has_key = false;
};

using TensorFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// What `f` does whatever the axes are that `types` leaves open: FailedPrecondition, naming `who`,
// where its graph depends on their sizes.
PortableFunction trace_for_all_sizes(const TensorFunction& f, const std::vector<TensorType>& types,
                                     const std::string& who);

// Large constants become blobs. FailedPrecondition, naming `who` and the variable, for a function
// that reads one.
void write_function(LinkWriter& link, const PortableFunction& function, const std::string& who);

// A function of tensors of these types. InvalidArgument for one of others.
PortableFunction read_function(LinkReader& link, const std::vector<TensorType>& types);

// What it gives, kUnknown for axes that depend on those of the inputs. Nothing is computed.
std::vector<TensorType> result_types(const PortableFunction& function,
                                     const std::vector<TensorType>& types);

// Its ops, applied again. Random numbers come from the key of the trace that it is called in.
TensorFunction replayed(std::shared_ptr<const PortableFunction> function);

}  // namespace cornu::data
