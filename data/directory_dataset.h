// SPDX-License-Identifier: Apache-2.0
// What image_dataset_from_directory and its like share: files of classes, and their two parts.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/folder_dataset.h"
#include "data/readers/directory_index.h"
#include "data/sources/labeled_files.h"

namespace cornu::data {

// Which of these functions it is.
struct DirectoryKind {
  std::string who;   // "image_dataset_from_directory"
  std::string both;  // the function that gives both subsets
  std::string what;  // "pictures"
  std::string name;  // of its numbers of files, "image_files"
  std::vector<std::string> formats;
};

// Keras's arguments that all of them have.
struct DirectoryQuery : DirectoryKind {
  FileLabels labels;
  std::optional<std::string> label_mode;
  std::vector<std::string> class_names;
  std::optional<int64_t> batch_size;
  bool shuffle;
  std::optional<int64_t> seed;
  std::optional<double> validation_split;
  std::optional<std::string> subset;
  bool follow_links;
  bool verbose;
  std::optional<int64_t> num_parallel_calls;

  // 0 is none, as in Keras.
  bool splits() const { return validation_split.value_or(0) != 0; }
  bool has_labels() const { return label_mode && !labels.none(); }
};

// InvalidArgument, naming `who`, for a value that isn't `known`.
void check_one_of(const std::string& who, const std::string& value,
                  const std::vector<std::string>& known, const char* what);

template <class Options>
DirectoryQuery query_of(const DirectoryKind& kind, const Options& options) {
  return {kind,
          options.labels,
          options.label_mode,
          options.class_names,
          options.batch_size,
          options.shuffle,
          options.seed,
          options.validation_split,
          options.subset,
          options.follow_links,
          options.verbose,
          options.num_parallel_calls};
}

// How files become elements, and these batches.
struct DirectoryLoader {
  std::function<NodePtr(NodePtr numbers, const LabeledFiles& files)> load;
  std::function<NodePtr(NodePtr elements, int64_t batch_size)> batch = batch_of_equals;

  static NodePtr batch_of_equals(NodePtr elements, int64_t batch_size);
};

// The dataset of the subset that is asked for, and both. How many files there are goes to the log.
// InvalidArgument for options that don't go together, for no files, and for labels that don't go
// with the mode; NotFound when there is no such folder.
FolderDataset make_folder_dataset(const std::filesystem::path& directory,
                                  const DirectoryQuery& query, const DirectoryLoader& loader);
FolderDatasetSplit make_folder_dataset_split(const std::filesystem::path& directory,
                                             const DirectoryQuery& query,
                                             const DirectoryLoader& loader);

}  // namespace cornu::data
