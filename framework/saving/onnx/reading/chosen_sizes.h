// SPDX-License-Identifier: Apache-2.0
// The sizes used for open axes while a file is read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "framework/model/functional.h"
#include "framework/saving/onnx/reading/onnx_file.h"
#include "framework/saving/onnx/traces.h"

namespace cornu::onnx::reading {

// Maximum number of open axes in a file, not counting the rows.
inline constexpr int64_t kMaxOpenAxes = 256;

// Which sizes to choose: multiples of a power of two; or these plus `more` for the first trace, and
// plus twice and three times `more` for the others; or, with `last`, one less than multiples of 32,
// which all strides round up.
struct ChoiceOfSizes {
  int64_t more = 0;
  bool last = false;
  int64_t scale = 1;       // for long windows and many strides
  bool same_rows = false;  // the first axes of all inputs have the same size, whatever their names
};

// The names of the first axes of inputs, if they have names.
std::set<std::string> names_of_rows(const std::vector<FileValue>& inputs);

// The choices with which a file of these inputs is read, until it accepts one.
std::vector<ChoiceOfSizes> choices_for(const std::vector<FileValue>& inputs);

// Returns the sizes for the open axis with this number; 0 is the rows. They increase from one trace
// to the next. Sizes of different axes aren't multiples of each other. Those of images are larger,
// since strides halve them more often; those of sequences are small, since position tables have few
// rows.
Size chosen_size(ChoiceOfSizes choice, int64_t number, bool of_picture);

// Returns the name of the first layer that differs between two models, given by their nodes (layers
// are compared by config, ops by attributes and constants, both by their inputs); nullopt if there
// is none.
std::optional<std::string> first_difference(const std::vector<std::shared_ptr<KerasNode>>& a,
                                            const std::vector<std::shared_ptr<KerasNode>>& b);

}  // namespace cornu::onnx::reading
