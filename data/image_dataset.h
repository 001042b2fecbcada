// SPDX-License-Identifier: Apache-2.0
// Datasets of image files in a directory (keras.utils.image_dataset_from_directory).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/folder_dataset.h"
#include "data/readers/directory_index.h"
#include "data/readers/image/decode_image.h"

namespace cornu::data {

struct ImageDatasetOptions {
  FileLabels labels = "inferred";
  // "int": int32 (); "binary": float32 (1), 0 or 1, for two classes; "categorical": float32
  // (classes), one-hot. nullopt: images without labels.
  std::optional<std::string> label_mode = "int";
  std::vector<std::string> class_names = {};  // the order of the classes; empty: sorted by name
  std::string color_mode = "rgb";             // "grayscale" or "rgba"
  std::optional<int64_t> batch_size = 32;     // nullopt: single images
  std::pair<int64_t, int64_t> image_size = {256, 256};  // (height, width)
  bool shuffle = true;                                  // in a new order in each pass
  std::optional<int64_t> seed = {};                     // 0 to 2^32 - 1
  // The fraction of the files that is reserved for validation: the last ones after shuffling with
  // the seed. Requires a seed unless shuffle is false, and a subset: "training" or "validation".
  std::optional<double> validation_split = {};
  std::optional<std::string> subset = {};
  // See ResizeImageOptions for interpolation, crop_to_aspect_ratio and pad_to_aspect_ratio.
  std::string interpolation = "bilinear";
  bool follow_links = false;
  bool crop_to_aspect_ratio = false;
  bool pad_to_aspect_ratio = false;
  bool verbose = true;  // log the number of files
  // Not in Keras: how many files may be decoded at a time, and the maximum size of images.
  std::optional<int64_t> num_parallel_calls = kAutotune;
  int64_t max_pixels = kMaxPixels;
  int64_t dct_scale = 1;  // decode JPEGs at 1/2, 1/4 or 1/8 of their size: faster, but changes
                          // pixels
};

using ImageDataset = FolderDataset;
using ImageDatasetSplit = FolderDatasetSplit;

// The .bmp, .gif, .jpeg, .jpg and .png files (only the first frame of animations) in the
// subdirectories of `directory`, one per class, as float32 (height, width, channels) with values in
// [0, 255], and their labels, in batches:
//
//   auto train = data::image_dataset_from_directory("flowers", {.image_size = {160, 160}});
//
// Pixels match those of Keras on TensorFlow; with the same seed, file_paths() and the split match
// Keras's. Each pass shuffles the indices of all files, so that no file is decoded for shuffling or
// for restoring a position; files are read and decoded on data threads, ahead of the iterator.
// Errors are thrown when the file is reached, and name it: DataLoss for a corrupt file, NotFound
// for one that no longer exists. Memory: two batches and a few images.
//
// Throws InvalidArgument when options conflict or there are no files; NotFound when the directory
// doesn't exist.
ImageDataset image_dataset_from_directory(const std::filesystem::path& directory,
                                          const ImageDatasetOptions& options = {});

// Returns both subsets (Keras's subset="both"):
//   auto [train, validation] = data::image_dataset_split_from_directory(
//       "flowers", {.seed = 123, .validation_split = 0.2});
ImageDatasetSplit image_dataset_split_from_directory(const std::filesystem::path& directory,
                                                     const ImageDatasetOptions& options = {});

}  // namespace cornu::data
