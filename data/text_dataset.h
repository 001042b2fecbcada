// SPDX-License-Identifier: Apache-2.0
// Folders of texts as datasets (keras.utils.text_dataset_from_directory).
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
  // "int": int32 (); "binary": float32 (1), 0 or 1, of two classes; "categorical": float32
  // (classes), one-hot. None: texts alone.
  std::optional<std::string> label_mode = "int";
  std::vector<std::string> class_names = {};  // the order of the classes; empty: sorted by name
  std::optional<int64_t> batch_size = 32;     // None: single texts
  std::optional<int64_t> max_length = {};     // longer texts are cut off after so many bytes
  bool shuffle = true;                        // anew in each pass
  std::optional<int64_t> seed = {};           // 0 to 2^32 - 1
  // As in ImageDatasetOptions.
  std::optional<double> validation_split = {};
  std::optional<std::string> subset = {};
  bool follow_links = false;
  bool verbose = true;  // log how many files there are
  // Beyond Keras: how many files may be read at a time.
  std::optional<int64_t> num_parallel_calls = kAutotune;
};

using TextDataset = FolderDataset;
using TextDatasetSplit = FolderDatasetSplit;

// The .txt files in the subfolders of `directory`, one a class, as strings, and their labels, in
// batches. With the same seed, file_paths() and the split are Keras's. Each pass shuffles the files
// by numbers, so that none is read for that, nor when a position is restored. Errors as
// image_dataset_from_directory's.
TextDataset text_dataset_from_directory(const std::filesystem::path& directory,
                                        const TextDatasetOptions& options = {});

// Both parts (Keras's subset="both").
TextDatasetSplit text_dataset_split_from_directory(const std::filesystem::path& directory,
                                                   const TextDatasetOptions& options = {});

}  // namespace cornu::data
