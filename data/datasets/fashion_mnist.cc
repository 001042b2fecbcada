// SPDX-License-Identifier: Apache-2.0
#include "data/datasets/fashion_mnist.h"

#include "data/datasets/dataset_file.h"
#include "data/datasets/idx_splits.h"

namespace cornu::datasets::fashion_mnist {

Splits load_data(const LoadOptions& options) {
  static const IdxDataset kFashionMnist = {.title = "Fashion-MNIST",
                                           .folder = "fashion-mnist",
                                           .url_variable = "CORNU_DATASETS_URL",
                                           .mirrors = {kKerasFolder},
                                           .md5 = {"", "", "", ""}};
  return load_idx_splits(kFashionMnist, options);
}

}  // namespace cornu::datasets::fashion_mnist
