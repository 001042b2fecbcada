// SPDX-License-Identifier: Apache-2.0
// Datasets of text files in a directory (keras.utils.text_dataset_from_directory).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/folder_dataset.h"
#include "data/readers/directory_index.h"

namespace cornu::data {

struct TextDatasetOptions {
  FileLabels labels = "inferred";
  // "int": int32 (); "binary": float32 (1), 0 or 1, for two classes; "categorical": float32
  // (classes), one-hot. nullopt: texts without labels.
  std::optional<std::string> label_mode = "int";
  std::vector<std::string> class_names = {};  // the order of the classes; empty: sorted by name
  std::optional<int64_t> batch_size = 32;     // nullopt: single texts
  std::optional<int64_t> max_length = {};     // longer texts are truncated to this many bytes
  bool shuffle = true;                        // in a new order in each pass
  std::optional<int64_t> seed = {};           // 0 to 2^32 - 1
  // See ImageDatasetOptions.
  std::optional<double> validation_split = {};
  std::optional<std::string> subset = {};
  bool follow_links = false;
  bool verbose = true;  // log the number of files
  // Not in Keras: how many files may be read at a time.
  std::optional<int64_t> num_parallel_calls = kAutotune;
};

using TextDataset = FolderDataset;
using TextDatasetSplit = FolderDatasetSplit;

// The .txt files in the subdirectories of `directory`, one per class, as strings, and their labels,
// in batches. With the same seed, file_paths() and the split match Keras's. Each pass shuffles file
// indices, so that no file is read for shuffling or for restoring a position. Throws the same
// errors as image_dataset_from_directory.
TextDataset text_dataset_from_directory(const std::filesystem::path& directory,
                                        const TextDatasetOptions& options = {});

// Returns both subsets (Keras's subset="both").
TextDatasetSplit text_dataset_split_from_directory(const std::filesystem::path& directory,
                                                   const TextDatasetOptions& options = {});

}  // namespace cornu::data
