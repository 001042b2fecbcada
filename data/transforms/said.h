// SPDX-License-Identifier: Apache-2.0
// Elements with what a traced function says of them: what filter, take_while, group_by_window and
// rejection_resample work on.
#pragma once

#include "data/map_function.h"
#include "data/node.h"

namespace cornu::data {

// Each element, and behind its tensors a bool scalar. InvalidArgument, naming `who`, when
// `predicate` gives anything else.
NodePtr make_flagged(NodePtr input, MapFunction predicate, const char* who);

// The same with an integer scalar, as int64.
NodePtr make_keyed(NodePtr input, MapFunction key, const char* who, const char* what);

// InvalidArgument unless `node` gives elements of this kind with a scalar of this dtype behind
// each.
void require_said(const Node& node, const ElementSpec& element, DType dtype);

// Takes off what was said.
Tensor take_said(Element& element, const std::shared_ptr<const Structure>& structure);

}  // namespace cornu::data
