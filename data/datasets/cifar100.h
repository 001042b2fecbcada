// SPDX-License-Identifier: Apache-2.0
// CIFAR-100: small color images of a hundred kinds of things (Krizhevsky, 2009).
#pragma once

#include <filesystem>
#include <string>

#include "data/datasets/splits.h"

namespace cornu::datasets::cifar100 {

struct LoadOptions {
  std::string label_mode = "fine";  // "fine": of 100 classes; "coarse": of 20
  std::filesystem::path path = {};  // see FileOptions
  bool download = true;
};

// 50,000 training and 10,000 test examples: x uint8 (n, 32, 32, 3); y int64 (n, 1)
// (keras.datasets.cifar100.load_data).
//
// The file is cifar-100-python.tar.gz, which is read as it is, never unpacked to the disk.
// FileOptions says where it is looked for, and which errors there are; InvalidArgument for another
// label_mode.
Splits load_data(const LoadOptions& options = {});

}  // namespace cornu::datasets::cifar100
