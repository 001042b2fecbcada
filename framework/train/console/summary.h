// SPDX-License-Identifier: Apache-2.0
// Model.summary(): a table of a model's layers, laid out as Keras lays it out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/train/model.h"

namespace cornu {

struct SummaryRow {
  std::string name;
  std::string class_name;
  std::string output_shape = "?";      // "(None, 10)", "[(None, 3), (None, 4)]"; "?": unknown
  std::optional<int64_t> params = {};  // None: not built
  std::optional<bool> trainable = {};  // None: it has no weights
  std::vector<std::string> connected_to = {};  // "dense[0][0]": layer, its call, the call's output
  std::vector<SummaryRow> nested = {};         // the layers of a nested model
};

struct SummaryCount {
  int64_t params = 0;
  int64_t bytes = 0;
};

struct SummaryData {
  std::string name;
  bool chain = true;  // no need to say what a layer is connected to: it's the one before
  std::vector<SummaryRow> rows;
  SummaryCount trainable;
  SummaryCount non_trainable;
  std::optional<SummaryCount> optimizer;  // None: not compiled, or nothing trained yet
};

// What a summary says. Rows of nested models are always there.
SummaryData summarize(const Model& model);
std::vector<SummaryRow> summary_rows(const Model& model);

// The text, for a terminal of so many columns. InvalidArgument when a column would be narrower than
// four characters, or when the number of positions isn't that of the columns.
std::string format_summary(const SummaryData& data, const SummaryOptions& options,
                           int64_t terminal_columns);

// Prints it; print_fn gets the whole text in one call.
void print_summary(const Model& model, const SummaryOptions& options);

}  // namespace cornu
