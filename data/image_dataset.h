// SPDX-License-Identifier: Apache-2.0
// Folders of pictures as datasets (keras.utils.image_dataset_from_directory).
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
  // "int": int32 (); "binary": float32 (1), 0 or 1, of two classes; "categorical": float32
  // (classes), one-hot. None: pictures alone.
  std::optional<std::string> label_mode = "int";
  std::vector<std::string> class_names = {};  // the order of the classes; empty: sorted by name
  std::string color_mode = "rgb";             // "grayscale" or "rgba"
  std::optional<int64_t> batch_size = 32;     // None: single pictures
  std::pair<int64_t, int64_t> image_size = {256, 256};  // (height, width)
  bool shuffle = true;                                  // anew in each pass
  std::optional<int64_t> seed = {};                     // 0 to 2^32 - 1
  // The part of the files, the last ones after they were shuffled by the seed, that is kept for
  // validation. Needs a seed unless shuffle is false, and subset: "training" or "validation".
  std::optional<double> validation_split = {};
  std::optional<std::string> subset = {};
  // ResizeImageOptions has these three.
  std::string interpolation = "bilinear";
  bool follow_links = false;
  bool crop_to_aspect_ratio = false;
  bool pad_to_aspect_ratio = false;
  bool verbose = true;  // log how many files there are
  // Beyond Keras: how many files may be decoded at a time, and how large pictures may be.
  std::optional<int64_t> num_parallel_calls = kAutotune;
  int64_t max_pixels = kMostPixels;
  int64_t dct_scale = 1;  // JPEGs decoded at 1/2, 1/4 or 1/8 of their size: faster, other pixels
};

using ImageDataset = FolderDataset;
using ImageDatasetSplit = FolderDatasetSplit;

// The .bmp, .gif, .jpeg, .jpg and .png files (of animations, the first frame) in the subfolders of
// `directory`, one a class, as float32 (height, width, channels) with values of 0 to 255, and their
// labels, in batches:
//
//   auto train = data::image_dataset_from_directory("flowers", {.image_size = {160, 160}});
//
// Pixels are those that Keras on TensorFlow gives; with the same seed, file_paths() and the split
// are Keras's. Each pass shuffles all files, by numbers, so that none is decoded for that, nor when
// a position is restored; files are read and decoded on data threads, ahead of who iterates. What
// is wrong with a file is thrown there at its place, naming it: DataLoss for a broken one, NotFound
// for one that is gone. Memory: two batches and a few pictures.
//
// InvalidArgument for options that don't go together, and where there are no files; NotFound when
// there is no such folder.
ImageDataset image_dataset_from_directory(const std::filesystem::path& directory,
                                          const ImageDatasetOptions& options = {});

// Both parts (Keras's subset="both"):
//   auto [train, validation] = data::image_dataset_split_from_directory(
//       "flowers", {.seed = 123, .validation_split = 0.2});
ImageDatasetSplit image_dataset_split_from_directory(const std::filesystem::path& directory,
                                                     const ImageDatasetOptions& options = {});

}  // namespace cornu::data
