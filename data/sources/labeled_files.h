// SPDX-License-Identifier: Apache-2.0
// Files of a folder with their labels: their numbers, and what is made of those.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/node.h"

namespace cornu::data {

// At least one file.
struct LabeledFiles {
  std::filesystem::path directory;
  std::vector<std::string> paths;
  std::vector<int64_t> labels;  // one for each, unless label_mode is empty
  std::string label_mode;       // "int", "binary", "categorical", or "" for contents alone
  size_t classes = 0;

  // What file `number` holds, with its label.
  Element element_of(const Tensor& content, size_t number) const;
};

// int64 scalars 0, 1, …: a table, so that they are shuffled by number. `name` is what describe()
// calls it.
NodePtr make_file_numbers(const LabeledFiles& files, const std::string& name);

}  // namespace cornu::data
