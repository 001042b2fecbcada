// SPDX-License-Identifier: Apache-2.0
// Trains a dense network to read digits.
#include "apps/common/digits.h"

using namespace cornu;

int main(int argc, char** argv) {
  return apps::train_digits(argc, argv, "Trains a dense network on MNIST.",
                            {.epochs = 5, .batch_size = 128, .learning_rate = 2e-3}, [] {
                              return Sequential({
                                  layers::Flatten(),
                                  layers::Rescaling({.scale = 1.0 / 255}),
                                  layers::Dense({.units = 512, .activation = "relu"}),
                                  layers::Dense({.units = 10}),
                              });
                            });
}
