// SPDX-License-Identifier: Apache-2.0
// Data sets of pictures in files, each of its own size, as tensorflow_datasets gives them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace cornu::datasets {

// Where the pictures are: in the archive as it is distributed, which is never unpacked to the disk
// (looked for, and downloaded, as FileOptions says), or in a folder that it was unpacked into.
struct PictureSetOptions {
  std::filesystem::path path = {};  // the archive, a folder that has it, or the unpacked folder
  bool download = true;             // when it is nowhere
  bool as_supervised = false;       // pairs (image, label) instead of dictionaries
};

struct PictureSetInfo {
  std::vector<std::string> class_names;   // of the labels 0, 1, …
  std::vector<int64_t> class_counts;      // pictures of each
  std::map<std::string, int64_t> splits;  // pictures of each: "train" is all there is
  int64_t num_skipped = 0;                // files that are no pictures, and left out
};

//   auto [train, info] = datasets::tf_flowers::load({.as_supervised = true});
struct PictureSet {
  // {image: uint8 (height, width, 3), label: int64 ()}, ordered by class and name: shuffle it.
  // Files are read and decoded when their element is asked for, on several threads; DataLoss there
  // for one that is damaged.
  data::Dataset train;
  PictureSetInfo info;
};

}  // namespace cornu::datasets
