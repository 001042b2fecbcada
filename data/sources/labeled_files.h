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
  int64_t calls = 1;  // how many may be read at a time

  // What file `number` holds, with its label.
  Element element_of(const Tensor& content, size_t number) const;
  // The types of these.
  ElementSpec spec_of_contents(const TensorType& content) const;
  // The number of a file in a row of make_file_numbers. OutOfRange when there is no such file.
  size_t number_in(const Element& row) const;
};

// What each number of a file stands for, with its label.
class LoadedFiles : public Node {
 public:
  const ElementSpec& spec() const override { return spec_; }
  // By data, others' files aren't read either: files() isn't for them.
  NodePtr worker_part(const WorkerPart& part) const override;
  StreamPtr<Element> elements(Pass pass) const override;

 protected:
  // `files` is the subclass's, which says what their contents are.
  LoadedFiles(NodePtr numbers, const LabeledFiles& files, const TensorType& content);

 private:
  virtual const LabeledFiles& labeled() const = 0;
  virtual Tensor load(const std::string& path) const = 0;  // on threads

  ElementSpec spec_;
};

// As a link of a dataset has them, but for the folder.
void write_files(LinkWriter& link, const LabeledFiles& files);
void read_files(LinkReader& link, LabeledFiles& files);

// int64 scalars 0, 1, …: a table, so that they are shuffled by number. `name` is what describe()
// calls it.
NodePtr make_file_numbers(const LabeledFiles& files, const std::string& name);

}  // namespace cornu::data
