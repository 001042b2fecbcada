// SPDX-License-Identifier: Apache-2.0
// Datasets of audio files in a directory (keras.utils.audio_dataset_from_directory).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/folder_dataset.h"
#include "data/readers/directory_index.h"

namespace cornu::data {

struct AudioDatasetOptions {
  FileLabels labels = "inferred";
  // "int": int32 (); "binary": float32 (1), 0 or 1, for two classes; "categorical": float32
  // (classes), one-hot. nullopt: sounds without labels.
  std::optional<std::string> label_mode = "int";
  std::vector<std::string> class_names = {};  // the order of the classes; empty: sorted by name
  std::optional<int64_t> batch_size = 32;     // nullopt: single sounds
  // Number of samples per sound: longer ones are truncated, shorter ones padded with zeros at the
  // end. nullopt: as many as the longest of the batch has.
  std::optional<int64_t> output_sequence_length = {};
  bool shuffle = true;               // in a new order in each pass
  std::optional<int64_t> seed = {};  // 0 to 2^32 - 1
  // See ImageDatasetOptions.
  std::optional<double> validation_split = {};
  std::optional<std::string> subset = {};
  bool follow_links = false;
  bool verbose = true;  // log the number of files
  // Not in Keras: how many files may be read at a time.
  std::optional<int64_t> num_parallel_calls = kAutotune;
};

using AudioDataset = FolderDataset;
using AudioDatasetSplit = FolderDatasetSplit;

// The .wav files in the subdirectories of `directory`, one per class, as float32 (samples,
// channels) with values in [-1, 1], and their labels, in batches. With the same seed, file_paths()
// and the split match Keras's. Each pass shuffles file indices, so that no file is read for
// shuffling or for restoring a position. There is no `ragged` and no `sampling_rate` option: sounds
// keep the sampling rate of their files. Throws the same errors as image_dataset_from_directory,
// and load_wav's for a file.
AudioDataset audio_dataset_from_directory(const std::filesystem::path& directory,
                                          const AudioDatasetOptions& options = {});

// Returns both subsets (Keras's subset="both").
AudioDatasetSplit audio_dataset_split_from_directory(const std::filesystem::path& directory,
                                                     const AudioDatasetOptions& options = {});

}  // namespace cornu::data
