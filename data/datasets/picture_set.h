// SPDX-License-Identifier: Apache-2.0
// Data sets of image files of varying sizes, as in tensorflow_datasets.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace cornu::datasets {

// Where the images are: in the archive as it is distributed, which is never extracted to disk
// (looked up and downloaded as documented for FileOptions), or in a directory that it was extracted
// to.
struct PictureSetOptions {
  std::filesystem::path path = {};  // the archive, a directory that contains it, or the
                                    // extracted directory
  bool download = true;             // if it isn't found
  bool as_supervised = false;       // pairs (image, label) instead of dictionaries
};

struct PictureSetInfo {
  std::vector<std::string> class_names;   // names of the labels 0, 1, …
  std::vector<int64_t> class_counts;      // number of images per class
  std::map<std::string, int64_t> splits;  // number of images per split: "train" is the only one
  int64_t num_skipped = 0;                // files that were skipped because they aren't valid
                                          // images
};

//   auto [train, info] = datasets::tf_flowers::load({.as_supervised = true});
struct PictureSet {
  // {image: uint8 (height, width, 3), label: int64 ()}, ordered by class and name, so shuffle it.
  // Files are read and decoded on several threads when their element is requested, which throws
  // DataLoss for a damaged file.
  data::Dataset train;
  PictureSetInfo info;
};

}  // namespace cornu::datasets
