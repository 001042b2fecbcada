// SPDX-License-Identifier: Apache-2.0
// Datasets of a folder's files that know where they are from.
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

  // Of the labels 0, 1, …; empty where there are no labels.
  const std::vector<std::string>& class_names() const { return *class_names_; }
  // In the order that shuffling begins with.
  const std::vector<std::string>& file_paths() const { return *file_paths_; }

 private:
  std::shared_ptr<const std::vector<std::string>> class_names_;
  std::shared_ptr<const std::vector<std::string>> file_paths_;
};

// Both parts (Keras's subset="both"); validation isn't shuffled in each pass.
struct FolderDatasetSplit {
  FolderDataset training;
  FolderDataset validation;
};

}  // namespace cornu::data
