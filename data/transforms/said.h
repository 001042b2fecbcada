// SPDX-License-Identifier: Apache-2.0
// Elements together with the result of a traced function for them; used by filter, take_while,
// group_by_window and rejection_resample.
#pragma once

#include "data/map_function.h"
#include "data/node.h"

namespace cornu::data {

// Appends a bool scalar to the tensors of each element. Throws InvalidArgument, naming `who`, when
// `predicate` returns anything else.
NodePtr make_flagged(NodePtr input, MapFunction predicate, const char* who);

// The same for an integer scalar, converted to int64.
NodePtr make_keyed(NodePtr input, MapFunction key, const char* who, const char* what);

// Throws InvalidArgument unless `node` yields elements with the given spec, each followed by a
// scalar of this dtype.
void require_said(const Node& node, const ElementSpec& element, DType dtype);

// Removes and returns the appended scalar.
Tensor take_said(Element& element, const std::shared_ptr<const Structure>& structure);

}  // namespace cornu::data
