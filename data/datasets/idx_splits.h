// SPDX-License-Identifier: Apache-2.0
// Data sets of four IDX files, like MNIST. Internal to the data sets.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "data/datasets/splits.h"

namespace cornu::datasets {

struct IdxDataset {
  const char* title;                 // for messages
  const char* folder;                // below $CORNU_DATASETS and the cache's datasets folder
  const char* archive = "";          // Keras's archive of the same data: x_train, y_train, x_test,
                                     // y_test
  const char* url_variable;          // environment variable with the URL of a folder
  std::vector<std::string> mirrors;  // URLs of folders that host the files
  // Hashes of the uncompressed files: training images and labels, then test images and labels; "":
  // not verified.
  std::array<const char*, 4> md5;
};

// Loads the files as documented in mnist.h.
Splits load_idx_splits(const IdxDataset& dataset, const FileOptions& options);

}  // namespace cornu::datasets
