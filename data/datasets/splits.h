// SPDX-License-Identifier: Apache-2.0
// What the built-in data sets are given as, and where they are taken from.
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

// Texts as numbers of words, of any lengths, and their labels.
struct Sequences {
  std::vector<std::vector<int64_t>> x;
  Tensor y;
};
struct SequenceSplits {
  Sequences train;
  Sequences test;
};

// A data set of one file is taken from the first place that has the file: `path` (the file itself,
// or a folder that has it), $CORNU_DATASETS, and cache_directory()/datasets. Otherwise it is
// downloaded into the last one, from where Keras gets it (or from $CORNU_DATASETS_URL, the URL of a
// folder), and checked against Keras's hash. NotFound, naming every place, when it is nowhere;
// DataLoss, naming the file, when it is damaged.
struct FileOptions {
  std::filesystem::path path = {};  // to look in first; empty: none
  bool download = true;             // when the file is nowhere
};

}  // namespace cornu::datasets
