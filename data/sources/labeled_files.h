// SPDX-License-Identifier: Apache-2.0
// Files of a folder with their labels: their numbers, and what is made of those.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/node.h"

namespace cornu::data {

class LinkReader;

// At least one file.
struct LabeledFiles {
  std::filesystem::path directory;
  std::vector<std::string> paths;
  std::vector<int64_t> labels;  // one for each, unless label_mode is empty
  std::string label_mode;       // "int", "binary", "categorical", or "" for contents alone
  size_t classes = 0;

  // What file `number` holds, with its label.
  Element element_of(const Tensor& content, size_t number) const;
  // The types of these.
  ElementSpec spec_of_contents(const TensorType& content) const;
  // The number of a file in a row of make_file_numbers. OutOfRange when there is no such file.
  size_t number_in(const Element& row) const;
};

// As a link of a dataset has them, but for the folder.
void write_files(LinkWriter& link, const LabeledFiles& files);
void read_files(LinkReader& link, LabeledFiles& files);

// int64 scalars 0, 1, …: a table, so that they are shuffled by number. `name` is what describe()
// calls it.
NodePtr make_file_numbers(const LabeledFiles& files, const std::string& name);

}  // namespace cornu::data
