// SPDX-License-Identifier: Apache-2.0
// The data given to a model on the command line: arrays and pictures.
#pragma once

#include <cornu/cornu.h>

#include <filesystem>
#include <string>
#include <vector>

#include "apps/cornu/tool/arguments.h"

namespace apps {

// The inputs stored in files, one or several for each example.
class Inputs {
 public:
  // Throws the readers' errors (NotFound, DataLoss, …), and InvalidArgument when it is ambiguous
  // what to read. Pictures are read lazily.
  Inputs(const cornu::Model& model, const std::vector<std::string>& files,
         const PictureArguments& pictures);

  int64_t size() const;  // number of examples
  // The files that are read: arrays' files, and pictures or their folders.
  const std::vector<std::string>& files() const { return files_; }
  // Examples [begin, end), as the model expects them.
  cornu::Tensors rows(int64_t begin, int64_t end) const;
  cornu::Tensors all() const { return rows(0, size()); }
  // The pictures' files if the examples are pictures; otherwise empty.
  std::vector<std::string> names() const;
  // The class number of each picture, from the folder that it is in. Throws InvalidArgument for
  // other inputs.
  cornu::Tensor classes() const;

 private:
  struct Column {
    std::string input = {};  // "": determined by its position
    cornu::Tensor values = {};
    std::vector<std::filesystem::path> pictures = {};  // instead of values
    std::filesystem::path folder = {};                 // of the pictures
    cornu::data::LoadImageOptions options = {};
  };
  static int64_t size_of(const Column& column);
  void check_sizes() const;
  Column read(const std::string& file, const std::string& input, const cornu::Shape& shape) const;
  cornu::Tensor load(const Column& column, int64_t begin, int64_t end) const;

  PictureArguments pictures_;
  std::vector<Column> columns_;
  std::vector<std::string> files_;
};

// Reads arrays for a model's outputs.
cornu::Tensors read_targets(const cornu::Model& model, const std::vector<std::string>& files);

// The names of a model's outputs; "output", "output_2", … for the first `count` ones if it has no
// names.
std::vector<std::string> output_names(const cornu::Model& model, size_t count);

}  // namespace apps
