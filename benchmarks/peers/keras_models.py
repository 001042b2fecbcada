# SPDX-License-Identifier: Apache-2.0
"""A network of keras.applications without pretrained weights, with logits of 1000 classes: written
as JSON, or trained for two steps, to print the number of trained weights and the memory it takes.

usage: keras_models.py NAME IMAGE_SIZE json PATH
       keras_models.py NAME IMAGE_SIZE memory BATCH_SIZE [xla]
"""
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import keras
import numpy as np

import memory


def main():
    name, size, what, argument = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
    model = getattr(keras.applications, name)(
        weights=None, input_shape=(size, size, 3), classifier_activation=None)
    if what == "json":
        with open(argument, "w") as file:
            file.write(model.to_json())
        return
    random = np.random.default_rng(0)
    x = random.random((int(argument), size, size, 3), dtype=np.float32)
    y = random.integers(0, 1000, (int(argument),))
    model.compile(optimizer=keras.optimizers.SGD(1e-3),
                  loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  jit_compile="xla" in sys.argv)
    growth = memory.growth(lambda: model.train_on_batch(x, y))
    print(sum(int(np.prod(weight.shape)) for weight in model.trainable_weights), growth)


main()
