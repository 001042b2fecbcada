// SPDX-License-Identifier: Apache-2.0
// The names of the files that a dataset reads.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "data/dataset.h"

namespace cornu::data {

// One path, several, or a dataset of paths (string scalars), which is iterated in each pass:
// `Dataset::list_files("*.tfrecord")`, shuffled differently each time. Implicitly converts from
// each of them.
class FileNames {
 public:
  template <class T>
  requires std::is_convertible_v<const T&, std::filesystem::path> FileNames(
      const T& path)  // NOLINT
      : FileNames(std::vector<std::string>{std::filesystem::path(path).string()}) {}
  FileNames(const std::vector<std::string>& paths);            // NOLINT: implicit on purpose
  FileNames(const std::vector<std::filesystem::path>& paths);  // NOLINT
  FileNames(std::initializer_list<std::filesystem::path> paths)
      : FileNames(std::vector<std::filesystem::path>(paths)) {}
  FileNames(const Dataset& paths) : dataset_(paths) {}  // NOLINT

  const Dataset& dataset() const { return dataset_; }

 private:
  Dataset dataset_;
};

}  // namespace cornu::data
