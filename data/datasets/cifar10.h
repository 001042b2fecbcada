// SPDX-License-Identifier: Apache-2.0
// CIFAR-10: small color images in ten classes (Krizhevsky, 2009).
#pragma once

#include "data/datasets/splits.h"

namespace cornu::datasets::cifar10 {

using LoadOptions = FileOptions;

// 50,000 training and 10,000 test examples: x uint8 (n, 32, 32, 3); y uint8 (n, 1): 0 airplane, 1
// automobile, 2 bird, 3 cat, 4 deer, 5 dog, 6 frog, 7 horse, 8 ship, 9 truck
// (keras.datasets.cifar10.load_data).
//
// The file is cifar-10-python.tar.gz, which is read without extracting it to disk. See FileOptions
// for where it is looked up and for errors.
Splits load_data(const LoadOptions& options = {});

}  // namespace cornu::datasets::cifar10
