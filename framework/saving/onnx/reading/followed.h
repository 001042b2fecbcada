// SPDX-License-Identifier: Apache-2.0
// Which values may be computed for a few choices of the open axes' sizes, so that what is found
// there holds for all sizes.
#pragma once

#include <vector>

#include "framework/saving/onnx/reading/onnx_file.h"
#include "framework/saving/onnx/reading/read_value.h"

namespace cornu::onnx::reading {

// Whether what a node makes of known operands, some of which follow sizes, may be computed so:
// integers and truths of shapes that are fixed, which the node moves, adds and multiplies; what is
// made of comparisons whose outcome is the same for all sizes; quotients without a rest, which must
// prove right for sizes that leave one (chosen_sizes.h). All else (places along an open axis,
// masks, remainders, rows of a table) is left to the model: operands become placeholders.
bool is_followed(const FileNode& node, const std::vector<const ReadValue*>& operands);

// Whether none of the elements that follow sizes can be negative, whatever these are: the value is
// made by a node that is_followed of such.
bool is_never_negative(const FileNode& node, const std::vector<const ReadValue*>& operands);

}  // namespace cornu::onnx::reading
