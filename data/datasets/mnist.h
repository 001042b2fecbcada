// SPDX-License-Identifier: Apache-2.0
// MNIST: images of handwritten digits (LeCun, Cortes, Burges).
#pragma once

#include "data/datasets/splits.h"

namespace cornu::datasets::mnist {

using LoadOptions = FileOptions;  // path: a directory, or Keras's mnist.npz

// 60,000 training and 10,000 test examples: x uint8 (n, 28, 28), from 0 for white to 255 for ink; y
// uint8 (n), 0 to 9 (keras.datasets.mnist.load_data).
//
// The four files, under their original names (train-images-idx3-ubyte, …), plain or with .gz, are
// read from the first directory that has all of them, or Keras's mnist.npz: `path`, `path`/mnist,
// $CORNU_DATASETS/mnist, and cache_directory()/datasets/mnist. Otherwise they are downloaded into
// the last one, from $CORNU_MNIST_URL if that is set (the URL of a directory), or from the known
// mirrors, and verified.
//
// Throws NotFound, listing all the locations, when the files aren't found; DataLoss, naming the
// file, when one is damaged or the numbers of images and labels differ. Plain files are
// memory-mapped, not read: loading takes microseconds.
Splits load_data(const LoadOptions& options = {});

}  // namespace cornu::datasets::mnist
