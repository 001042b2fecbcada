// SPDX-License-Identifier: Apache-2.0
// What a model is given by the command line: arrays and pictures.
#pragma once

#include <cornu/cornu.h>

#include <filesystem>
#include <string>
#include <vector>

#include "apps/cornu/tool/arguments.h"

namespace apps {

// The inputs that files hold, one or several for each example.
class Inputs {
 public:
  // NotFound, DataLoss, … as the readers' errors; InvalidArgument where it isn't clear what to
  // take. Pictures are read when they are asked for.
  Inputs(const cornu::Model& model, const std::vector<std::string>& files,
         const PictureArguments& pictures);

  int64_t size() const;  // examples
  // What is read: arrays' files, and pictures or their folders.
  const std::vector<std::string>& files() const { return files_; }
  // Examples [begin, end), as the model takes them.
  cornu::Tensors rows(int64_t begin, int64_t end) const;
  cornu::Tensors all() const { return rows(0, size()); }
  // The pictures' files, where the examples are pictures; else none.
  std::vector<std::string> names() const;
  // The number of each picture's class, by the folders they lie in. InvalidArgument for others.
  cornu::Tensor classes() const;

 private:
  struct Column {
    std::string input = {};  // "": by its place
    cornu::Tensor values = {};
    std::vector<std::filesystem::path> pictures = {};  // in place of values
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

// Arrays for a model's outputs.
cornu::Tensors read_targets(const cornu::Model& model, const std::vector<std::string>& files);

// The names of a model's outputs; those of the first ones as "output", "output_2", … where it has
// none.
std::vector<std::string> output_names(const cornu::Model& model, size_t count);

}  // namespace apps
