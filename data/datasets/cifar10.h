// SPDX-License-Identifier: Apache-2.0
// CIFAR-10: small color images of ten kinds of things (Krizhevsky, 2009).
#pragma once

#include "data/datasets/splits.h"

namespace cornu::datasets::cifar10 {

using LoadOptions = FileOptions;

// 50,000 training and 10,000 test examples: x uint8 (n, 32, 32, 3); y uint8 (n, 1): 0 airplane,
// 1 automobile, 2 bird, 3 cat, 4 deer, 5 dog, 6 frog, 7 horse, 8 ship, 9 truck
// (keras.datasets.cifar10.load_data).
//
// The file is cifar-10-python.tar.gz, which is read as it is, never unpacked to the disk.
// FileOptions says where it is looked for, and which errors there are.
Splits load_data(const LoadOptions& options = {});

}  // namespace cornu::datasets::cifar10
