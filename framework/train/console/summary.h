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
  std::vector<std::string> connected_to = {};  // "dense[0][0]": layer, call, output
  std::vector<SummaryRow> nested = {};         // the layers of a nested model
};

struct SummaryCount {
  int64_t params = 0;
  int64_t bytes = 0;
};

struct SummaryData {
  std::string name;
  bool chain = true;  // a linear chain: connections needn't be shown
  std::vector<SummaryRow> rows;
  SummaryCount trainable;
  SummaryCount non_trainable;
  std::optional<SummaryCount> optimizer;  // None: not compiled, or nothing trained yet
};

// Collects the contents of a summary. Always includes the rows of nested models.
SummaryData summarize(const Model& model);
std::vector<SummaryRow> summary_rows(const Model& model);

// Formats the text for a terminal of this many columns. Throws InvalidArgument when a column would
// be narrower than four characters, or when the number of positions differs from that of columns.
std::string format_summary(const SummaryData& data, const SummaryOptions& options,
                           int64_t terminal_columns);

// Prints the summary; print_fn receives the whole text in one call.
void print_summary(const Model& model, const SummaryOptions& options);

}  // namespace cornu
