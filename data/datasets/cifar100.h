// SPDX-License-Identifier: Apache-2.0
// CIFAR-100: small color images in a hundred classes (Krizhevsky, 2009).
#pragma once

#include <filesystem>
#include <string>

#include "data/datasets/splits.h"

namespace cornu::datasets::cifar100 {

struct LoadOptions {
  std::string label_mode = "fine";  // "fine": 100 classes; "coarse": 20
  std::filesystem::path path = {};  // see FileOptions
  bool download = true;
};

// 50,000 training and 10,000 test examples: x uint8 (n, 32, 32, 3); y int64 (n, 1)
// (keras.datasets.cifar100.load_data).
//
// The file is cifar-100-python.tar.gz, which is read without extracting it to disk. See FileOptions
// for where it is looked up and for errors; throws InvalidArgument for an unknown label_mode.
Splits load_data(const LoadOptions& options = {});

}  // namespace cornu::datasets::cifar100
