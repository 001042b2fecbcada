// SPDX-License-Identifier: Apache-2.0
// What image_dataset_from_directory and its like share: files of classes, and their two parts.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/readers/directory_index.h"
#include "data/sources/labeled_files.h"

namespace cornu::data {

// Keras's arguments that all of them have.
struct DirectoryQuery {
  std::string who;   // "image_dataset_from_directory"
  std::string both;  // the function that gives both subsets
  std::string what;  // "pictures"
  std::vector<std::string> formats;
  FileLabels labels;
  std::optional<std::string> label_mode;
  std::vector<std::string> class_names;
  bool shuffle;
  std::optional<int64_t> seed;
  std::optional<double> validation_split;
  std::optional<std::string> subset;
  bool follow_links;
  bool verbose;

  // 0 is none, as in Keras.
  bool splits() const { return validation_split.value_or(0) != 0; }
  bool has_labels() const { return label_mode && !labels.none(); }
};

// InvalidArgument, naming `who`, for a value that isn't `known`.
void check_one_of(const std::string& who, const std::string& value,
                  const std::vector<std::string>& known, const char* what);

// InvalidArgument for options that don't go together; `both`: for both subsets.
void check_query(const DirectoryQuery& query, bool both);

// The files, and how many there are in the log. InvalidArgument for none, and for labels that don't
// go with the mode.
DirectoryIndex find_files(const std::filesystem::path& directory, const DirectoryQuery& query);

// The files [first, second) of the subset that is asked for.
std::pair<size_t, size_t> subset_of(const DirectoryIndex& index, const DirectoryQuery& query);
// Where the training subset ends and validation begins, for both.
size_t subset_edge(const DirectoryIndex& index, const DirectoryQuery& query);

// The files [begin, end) of an index, into `files`.
void take_files(LabeledFiles& files, const std::filesystem::path& directory,
                const DirectoryIndex& index, std::pair<size_t, size_t> range,
                const DirectoryQuery& query);

}  // namespace cornu::data
