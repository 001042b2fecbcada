// SPDX-License-Identifier: Apache-2.0
// The program at the top of README.md.
#include <cornu/cornu.h>
using namespace cornu;

int main() {
  auto [train, test] = datasets::mnist::load_data();

  Sequential model({
      layers::Reshape({28, 28, 1}),
      layers::Rescaling({.scale = 1.0 / 255}),
      layers::Conv2D({.filters = 32, .kernel_size = 3, .activation = "relu"}),
      layers::MaxPooling2D(),
      layers::Flatten(),
      layers::Dense({.units = 64, .activation = "relu"}),
      layers::Dense({.units = 10}),
  });
  model.compile({.optimizer = optimizers::Adam({.learning_rate = 1e-3}),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  model.fit(train.x, train.y, {.batch_size = 64, .epochs = 3, .validation_split = 0.1});
  model.evaluate(test.x, test.y);
  model.save("mnist.keras");  // Python Keras opens this file
}
