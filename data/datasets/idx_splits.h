// SPDX-License-Identifier: Apache-2.0
// Data sets of four IDX files, as MNIST's. Internal to the data sets.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "data/datasets/splits.h"

namespace cornu::datasets {

struct IdxDataset {
  const char* title;                 // for messages
  const char* folder;                // below $CORNU_DATASETS and the cache's datasets
  const char* archive = "";          // Keras's file of the same: x_train, y_train, x_test, y_test
  const char* url_variable;          // of the environment: the URL of a folder
  std::vector<std::string> mirrors;  // URLs of folders that have the files
  // Of the unpacked files: images and labels for training, then for testing; "": not checked.
  std::array<const char*, 4> md5;
};

// As mnist.h says.
Splits load_idx_splits(const IdxDataset& dataset, const FileOptions& options);

}  // namespace cornu::datasets
