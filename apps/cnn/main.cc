// SPDX-License-Identifier: Apache-2.0
// The convolutional network of the multi-worker Keras tutorial, on one machine.
#include "apps/common/digits.h"

using namespace cornu;

int main(int argc, char** argv) {
  return apps::train_digits(
      argc, argv, "Trains a small convolutional network on MNIST.",
      {.epochs = 3, .batch_size = 64, .learning_rate = 3e-3}, [] {
        return Sequential({
            layers::Reshape({28, 28, 1}),
            layers::Rescaling({.scale = 1.0 / 255}),
            layers::Conv2D({.filters = 32, .kernel_size = 3, .activation = "relu"}),
            layers::MaxPooling2D(),
            layers::Flatten(),
            layers::Dense({.units = 64, .activation = "relu"}),
            layers::Dense({.units = 10}),
        });
      });
}
