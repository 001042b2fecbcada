// SPDX-License-Identifier: Apache-2.0
// Datasets of the files in a directory, with their class names and paths.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"

namespace cornu::data {

class FolderDataset : public Dataset {
 public:
  FolderDataset(Dataset dataset, std::vector<std::string> class_names,
                std::vector<std::string> file_paths)
      : Dataset(std::move(dataset)),
        class_names_(std::make_shared<const std::vector<std::string>>(std::move(class_names))),
        file_paths_(std::make_shared<const std::vector<std::string>>(std::move(file_paths))) {}

  // The names of the labels 0, 1, …; empty if there are no labels.
  const std::vector<std::string>& class_names() const { return *class_names_; }
  // The paths in the order before the shuffle of each pass.
  const std::vector<std::string>& file_paths() const { return *file_paths_; }

 private:
  std::shared_ptr<const std::vector<std::string>> class_names_;
  std::shared_ptr<const std::vector<std::string>> file_paths_;
};

// Both subsets (Keras's subset="both"); validation isn't shuffled in each pass.
struct FolderDatasetSplit {
  FolderDataset training;
  FolderDataset validation;
};

}  // namespace cornu::data
