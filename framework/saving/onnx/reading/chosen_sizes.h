// SPDX-License-Identifier: Apache-2.0
// The sizes that stand for open axes while a file is read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/model/functional.h"
#include "framework/saving/onnx/traces.h"

namespace cornu::onnx::reading {

// So many may a file have, beside the rows.
inline constexpr int64_t kMostOpenAxes = 256;

// Which sizes: those that powers of two divide; or beside these, so many more for the first trace,
// and twice and three times as many for the others; or, `last`, one less than multiples of 32,
// which all strides round up.
struct ChoiceOfSizes {
  int64_t more = 0;
  bool last = false;
  bool large = false;  // for long windows, and many strides
};

// Of the open axis of this number; 0: of the rows. They grow from one trace to the next. Sizes of
// different axes are no multiples of each other; those of pictures are larger, as
// strides halve them more often, those of sequences small, as tables of positions have few rows.
Size chosen_size(ChoiceOfSizes choice, int64_t number, bool of_picture);

// The name of the first layer that isn't the same in both models, which are given by their nodes
// (layers by configurations, ops by attributes and constants, both by what they read); none where
// all are.
std::optional<std::string> first_difference(const std::vector<std::shared_ptr<KerasNode>>& a,
                                            const std::vector<std::shared_ptr<KerasNode>>& b);

}  // namespace cornu::onnx::reading
