// SPDX-License-Identifier: Apache-2.0
// Which values may be computed for a few choices of the open axes' sizes, so that what is found
// there holds for all sizes.
#pragma once

#include <vector>

#include "framework/saving/onnx/reading/onnx_file.h"
#include "framework/saving/onnx/reading/read_value.h"

namespace cornu::onnx::reading {

// Whether what a node makes of known operands may be computed so. That is what moves elements, adds
// them and multiplies them: what is linear in the sizes for a few of them is so for all. A
// comparison is, where its outcome is the same for all sizes, or is that of places in rows and
// columns (causal masks); a quotient or a rounded number, where it is exact, or follows the sizes.
// All else (a minimum of a size and a number, a remainder, a sine, rows of a table) is left to the
// model: its operands become placeholders.
bool is_followed(const FileNode& node, const std::vector<const ReadValue*>& operands);

// Whether none of the elements that follow sizes can be negative, whatever these are: the value is
// made by a node that is_followed of such.
bool is_never_negative(const FileNode& node, const std::vector<const ReadValue*>& operands);

// Whether all elements up to a diagonal are the same, and all beyond it, as in causal masks.
bool is_triangle(const Tensor& value);
// Which of a matrix's elements are on the diagonal or below it, for numbers of rows and columns;
// of a tensor of this rank.
Tensor triangle(const Tensor& rows, const Tensor& columns, int64_t rank);
// The element of each matrix in its first row and this column.
Tensor in_first_row(const Tensor& value, int64_t column);

}  // namespace cornu::onnx::reading
