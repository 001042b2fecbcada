// SPDX-License-Identifier: Apache-2.0
// Fashion-MNIST: images of clothes (Zalando), a drop-in replacement for MNIST.
#pragma once

#include "data/datasets/splits.h"

namespace cornu::datasets::fashion_mnist {

using LoadOptions = FileOptions;  // path: a directory

// 60,000 training and 10,000 test examples: x uint8 (n, 28, 28); y uint8 (n): 0 T-shirt/top, 1
// trouser, 2 pullover, 3 dress, 4 coat, 5 sandal, 6 shirt, 7 sneaker, 8 bag, 9 ankle boot
// (keras.datasets.fashion_mnist.load_data).
//
// The four files have the same names as MNIST's, and are looked up in the same way (see mnist.h),
// in directories called fashion-mnist: `path`, `path`/fashion-mnist, $CORNU_DATASETS/fashion-mnist
// and cache_directory()/datasets/fashion-mnist; then downloaded, from $CORNU_DATASETS_URL if that
// is set. They aren't verified, as there is no published hash. Throws the same errors as MNIST.
Splits load_data(const LoadOptions& options = {});

}  // namespace cornu::datasets::fashion_mnist
