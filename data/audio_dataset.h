// SPDX-License-Identifier: Apache-2.0
// Folders of sounds as datasets (keras.utils.audio_dataset_from_directory).
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
  // "int": int32 (); "binary": float32 (1), 0 or 1, of two classes; "categorical": float32
  // (classes), one-hot. None: sounds alone.
  std::optional<std::string> label_mode = "int";
  std::vector<std::string> class_names = {};  // the order of the classes; empty: sorted by name
  std::optional<int64_t> batch_size = 32;     // None: single sounds
  // So many samples of each: what is longer is cut off, what is shorter ends with zeros. None: as
  // many as the longest of a batch has.
  std::optional<int64_t> output_sequence_length = {};
  bool shuffle = true;               // anew in each pass
  std::optional<int64_t> seed = {};  // 0 to 2^32 - 1
  // As in ImageDatasetOptions.
  std::optional<double> validation_split = {};
  std::optional<std::string> subset = {};
  bool follow_links = false;
  bool verbose = true;  // log how many files there are
  // Beyond Keras: how many files may be read at a time.
  std::optional<int64_t> num_parallel_calls = kAutotune;
};

using AudioDataset = FolderDataset;
using AudioDatasetSplit = FolderDatasetSplit;

// The .wav files in the subfolders of `directory`, one a class, as float32 (samples, channels) with
// values of -1 to 1, and their labels, in batches. With the same seed, file_paths() and the split
// are Keras's. Each pass shuffles the files by numbers, so that none is read for that, nor when a
// position is restored. There is no `ragged`, and no `sampling_rate`: sounds come at the rate of
// their files. Errors as image_dataset_from_directory's, those of a file as load_wav's.
AudioDataset audio_dataset_from_directory(const std::filesystem::path& directory,
                                          const AudioDatasetOptions& options = {});

// Both parts (Keras's subset="both").
AudioDatasetSplit audio_dataset_split_from_directory(const std::filesystem::path& directory,
                                                     const AudioDatasetOptions& options = {});

}  // namespace cornu::data
