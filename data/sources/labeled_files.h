// SPDX-License-Identifier: Apache-2.0
// Files in a directory with their labels: a dataset of their numbers, and nodes that load them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/node.h"

namespace cornu::data {

class LinkReader;

// Has at least one file.
struct LabeledFiles {
  std::filesystem::path directory;
  std::vector<std::string> paths;
  std::vector<int64_t> labels;  // one per path, unless label_mode is empty
  std::string label_mode;       // "int", "binary", "categorical", or "" for contents without labels
  size_t classes = 0;
  int64_t calls = 1;  // how many may be read at a time

  // The element for the contents of file `number`, including its label.
  Element element_of(const Tensor& content, size_t number) const;
  // The spec of these elements.
  ElementSpec spec_of_contents(const TensorType& content) const;
  // The file number in a row of make_file_numbers. Throws OutOfRange when there is no such file.
  size_t number_in(const Element& row) const;
};

// Maps file numbers to the files' contents, with labels.
class LoadedFiles : public Node {
 public:
  const ElementSpec& spec() const override { return spec_; }
  // Dividing by data doesn't read other workers' files either, so files() isn't overridden.
  NodePtr worker_part(const WorkerPart& part) const override;
  StreamPtr<Element> elements(Pass pass) const override;

 protected:
  // `files` belongs to the subclass, which determines the type of their contents.
  LoadedFiles(NodePtr numbers, const LabeledFiles& files, const TensorType& content);

 private:
  virtual const LabeledFiles& labeled() const = 0;
  virtual Tensor load(const std::string& path) const = 0;  // called on several threads

  ElementSpec spec_;
};

// Serialize the files as part of a link, except for the directory.
void write_files(LinkWriter& link, const LabeledFiles& files);
void read_files(LinkReader& link, LabeledFiles& files);

// int64 scalars 0, 1, …, as a table, so that they are shuffled by index. `name` is used by
// describe().
NodePtr make_file_numbers(const LabeledFiles& files, const std::string& name);

}  // namespace cornu::data
