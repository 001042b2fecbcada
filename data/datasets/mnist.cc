// SPDX-License-Identifier: Apache-2.0
#include "data/datasets/mnist.h"

#include "data/datasets/idx_splits.h"

namespace cornu::datasets::mnist {

Splits load_data(const LoadOptions& options) {
  static const IdxDataset kMnist = {
      .title = "MNIST",
      .folder = "mnist",
      .archive = "mnist.npz",
      .url_variable = "CORNU_MNIST_URL",
      .mirrors = {"https://ossci-datasets.s3.amazonaws.com/mnist/",
                  "https://storage.googleapis.com/cvdf-datasets/mnist/"},
      .md5 = {"6bbc9ace898e44ae57da46a324031adb", "a25bea736e30d166cdddb491f175f624",
              "2646ac647ad5339dbf082846283269ea", "27ae3e4e09519cfbb04c329615203637"}};
  return load_idx_splits(kMnist, options);
}

}  // namespace cornu::datasets::mnist
