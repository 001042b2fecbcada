// SPDX-License-Identifier: Apache-2.0
// Files below a folder, with a class for each of its subfolders.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cornu::data {

// Where the labels of files come from: "inferred" of the folders that they lie in, none (nullopt),
// or a list with one for each file in the order of their paths.
class FileLabels {
 public:
  FileLabels(std::nullopt_t = std::nullopt) {}  // NOLINT: implicit on purpose, as all here
  // InvalidArgument for anything but "inferred"; a null pointer is none.
  FileLabels(const char* how);             // NOLINT
  FileLabels(const std::string& how);      // NOLINT
  FileLabels(std::vector<int64_t> labels)  // NOLINT
      : list_(std::move(labels)) {}
  FileLabels(std::initializer_list<int64_t> labels)  // NOLINT
      : list_(std::vector<int64_t>(labels)) {}

  bool inferred() const { return inferred_; }
  bool none() const { return !inferred_ && !list_; }
  const std::optional<std::vector<int64_t>>& list() const { return list_; }

 private:
  bool inferred_ = false;
  std::optional<std::vector<int64_t>> list_;
};

struct IndexDirectoryOptions {
  std::vector<std::string> formats = {};  // endings in lower case, ".png"
  FileLabels labels = "inferred";
  std::vector<std::string> class_names = {};  // in this order; empty: all subfolders, sorted
  std::optional<int64_t> shuffle_seed = {};   // None: in the order of their paths
  bool follow_links = false;
};

struct DirectoryIndex {
  std::vector<std::string> file_paths;
  std::vector<int64_t> labels;  // one for each; empty: none
  std::vector<std::string> class_names;
};

// The files in `directory` whose names end with one of the formats, in capitals or not: by class,
// then by folder and name. With inferred labels those of the classes' folders, and of the folders
// in these; otherwise all below. Classes are the subfolders, but for hidden ones, or the different
// labels of the list as text. With a seed they are shuffled as Keras does.
//
// NotFound when there is no such folder, FailedPrecondition when one can't be read, InvalidArgument
// when class_names aren't subfolders, or are given without inferred labels, or when the list has
// another number of labels. Links to folders are followed where that is asked for, and where they
// stand for a class. Reference: Keras's dataset_utils.index_directory.
DirectoryIndex index_directory(const std::filesystem::path& directory,
                               const IndexDirectoryOptions& options);

// All files in and below `folder`, relative to it, in no order. FailedPrecondition when a folder
// can't be read.
std::vector<std::string> files_below(const std::filesystem::path& folder);

}  // namespace cornu::data
