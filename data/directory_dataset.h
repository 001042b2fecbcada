// SPDX-License-Identifier: Apache-2.0
// The common parts of image_dataset_from_directory and similar functions: files grouped by class,
// and the two subsets.
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

// Identifies one of these functions, for its messages.
struct DirectoryKind {
  std::string who;   // "image_dataset_from_directory"
  std::string both;  // the function that returns both subsets
  std::string what;  // "pictures"
  std::string name;  // of the dataset of file indices, "image_files"
  std::vector<std::string> formats;
};

// The Keras arguments that these functions share.
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

  // 0 means no split, as in Keras.
  bool splits() const { return validation_split.value_or(0) != 0; }
  bool has_labels() const { return label_mode && !labels.none(); }
};

// Throws InvalidArgument, naming `who`, for a value that isn't one of `known`.
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

// How to load files into elements, and to batch those.
struct DirectoryLoader {
  std::function<NodePtr(NodePtr numbers, const LabeledFiles& files)> load;
  std::function<NodePtr(NodePtr elements, int64_t batch_size)> batch = batch_of_equals;

  static NodePtr batch_of_equals(NodePtr elements, int64_t batch_size);
};

// Return the dataset of the selected subset, or both. The number of files is logged. Throw
// InvalidArgument when options conflict, when there are no files, or when the labels don't fit the
// mode; NotFound when the directory doesn't exist.
FolderDataset make_folder_dataset(const std::filesystem::path& directory,
                                  const DirectoryQuery& query, const DirectoryLoader& loader);
FolderDatasetSplit make_folder_dataset_split(const std::filesystem::path& directory,
                                             const DirectoryQuery& query,
                                             const DirectoryLoader& loader);

}  // namespace cornu::data
