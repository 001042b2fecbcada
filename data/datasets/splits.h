// SPDX-License-Identifier: Apache-2.0
// The types returned by the built-in data sets, and where their files are looked up.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::datasets {

// Examples and their labels: `auto [train, test] = datasets::mnist::load_data();`
struct Examples {
  Tensor x;
  Tensor y;
};
struct Splits {
  Examples train;
  Examples test;
};

// Texts as lists of word indices, of varying lengths, and their labels.
struct Sequences {
  std::vector<std::vector<int64_t>> x;
  Tensor y;
};
struct SequenceSplits {
  Sequences train;
  Sequences test;
};

// The file of a data set is looked up in `path` (the file itself, or a directory that contains it),
// $CORNU_DATASETS, and cache_directory()/datasets. If it isn't found, it is downloaded into the
// last one, from the same URL as in Keras (or from $CORNU_DATASETS_URL, the URL of a directory),
// and verified against Keras's hash. Throws NotFound, listing all the locations, when it isn't
// found; DataLoss, naming the file, when it is damaged.
struct FileOptions {
  std::filesystem::path path = {};  // location to look in first; empty: none
  bool download = true;             // if the file isn't found
};

}  // namespace cornu::datasets
