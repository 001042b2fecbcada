// SPDX-License-Identifier: Apache-2.0
// Finds the files below a directory, with a class for each of its subdirectories.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cornu::data {

// Where the labels of files come from: "inferred" from their directories, none (nullopt), or a list
// with one label per file, in the order of their paths.
class FileLabels {
 public:
  FileLabels(std::nullopt_t = std::nullopt) {}  // NOLINT: implicit on purpose, like all here
  // Throws InvalidArgument for anything but "inferred"; a null pointer means none.
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
  std::vector<std::string> formats = {};  // lowercase suffixes, ".png"
  FileLabels labels = "inferred";
  std::vector<std::string> class_names = {};  // in this order; empty: all subdirectories, sorted
  std::optional<int64_t> shuffle_seed = {};   // nullopt: in the order of their paths
  bool follow_links = false;
};

struct DirectoryIndex {
  std::vector<std::string> file_paths;
  std::vector<int64_t> labels;  // one per path; empty: none
  std::vector<std::string> class_names;
};

// The files in `directory` whose names end with one of the formats, ignoring case: ordered by
// class, then by directory and name. With inferred labels, includes the files in the classes'
// directories and in directories below those; otherwise all files below `directory`. The classes
// are the subdirectories, except hidden ones, or the distinct labels of the list as text. With a
// seed, files are shuffled as in Keras.
//
// Throws NotFound when the directory doesn't exist, FailedPrecondition when a directory can't be
// read, and InvalidArgument when class_names aren't subdirectories or are given without inferred
// labels, or when the list has the wrong number of labels. Symbolic links to directories are
// followed if follow_links is set, and if they represent a class. Reference: Keras's
// dataset_utils.index_directory.
DirectoryIndex index_directory(const std::filesystem::path& directory,
                               const IndexDirectoryOptions& options);

// All files in and below `folder`, relative to it, in no particular order. Throws
// FailedPrecondition when a directory can't be read.
std::vector<std::string> files_below(const std::filesystem::path& folder);

}  // namespace cornu::data
