// SPDX-License-Identifier: Apache-2.0
// Decides which values may be computed for a few choices of the open axes' sizes such that the
// result is valid for all sizes.
#pragma once

#include <vector>

#include "framework/saving/onnx/reading/onnx_file.h"
#include "framework/saving/onnx/reading/read_value.h"

namespace cornu::onnx::reading {

// Whether a node with known operands, some of which depend on sizes, may be computed in this way.
// This holds for integers and booleans of fixed shape that the node moves, adds or multiplies; for
// comparisons whose outcome is the same for all sizes; and for quotients without a remainder, which
// must prove correct for sizes that leave one (chosen_sizes.h). All other operations (positions
// along an open axis, masks, remainders, rows of a table) are left to the model, with placeholders
// as operands.
bool is_followed(const FileNode& node, const std::vector<const ReadValue*>& operands);

// Whether no element that depends on sizes can be negative, whatever the sizes: the node's result
// is computed, as for is_followed, from such values.
bool is_never_negative(const FileNode& node, const std::vector<const ReadValue*>& operands);

}  // namespace cornu::onnx::reading
