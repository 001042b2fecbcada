// SPDX-License-Identifier: Apache-2.0
// Transfer learning on a folder of images (cats_vs_dogs, tf_flowers), with one subfolder per class.
#include <cornu/cornu.h>

#include <cstdlib>

using namespace cornu;

int main(int argc, char** argv) {
  auto [train, validation] = data::image_dataset_split_from_directory(
      argc > 1 ? argv[1] : "flowers",
      {.batch_size = 32, .image_size = {160, 160}, .seed = 123, .validation_split = 0.2});

  distribute::MirroredStrategy strategy;  // all GPUs of this machine, or its CPU
  auto scope = strategy.scope();
  auto base = applications::MobileNetV2({.input_shape = {160, 160, 3},
                                         .include_top = false,
                                         .weights = std::getenv("MOBILENET_WEIGHTS")});
  base.set_trainable(std::getenv("MOBILENET_WEIGHTS") ==
                     nullptr);  // pretrained: train the head only

  Tensor inputs = Input({.shape = {160, 160, 3}});
  Tensor x = layers::RandomFlip("horizontal")(inputs);
  x = applications::mobilenet_v2::preprocess_input(x);
  x = base(x, {.training = false});
  x = layers::GlobalAveragePooling2D()(x);
  x = layers::Dropout({.rate = 0.2})(x);
  Model model(inputs, layers::Dense({.units = 5})(x));

  model.compile({.optimizer = optimizers::Adam({.learning_rate = 1e-4}),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  model.fit(train.cache().shuffle(1000).prefetch(data::kAutotune),
            {.epochs = 2, .validation_data = validation});
  return 0;
}
