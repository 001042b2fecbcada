# SPDX-License-Identifier: Apache-2.0
"""The measured trainings in Keras on TensorFlow; same protocol as steps/main.cc.

usage: keras_steps.py WORK BATCH_SIZE STEPS [xla]
"""
import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import keras
import numpy as np
from keras import layers


def make_work(name):
    conv = lambda filters, padding: layers.Conv2D(filters, 3, padding=padding, activation="relu")
    if name == "mlp":
        shape, optimizer = (784,), keras.optimizers.Adam(1e-3)
        body = [layers.Dense(512, activation="relu"), layers.Dense(10)]
    elif name == "cnn":
        shape, optimizer = (28, 28, 1), keras.optimizers.SGD(1e-3)
        body = [conv(32, "valid"), layers.MaxPooling2D(), layers.Flatten(),
                layers.Dense(64, activation="relu"), layers.Dense(10)]
    elif name == "cifar":
        shape, optimizer = (32, 32, 3), keras.optimizers.Adam(1e-3)
        body = [conv(32, "same"), conv(32, "valid"), layers.MaxPooling2D(),
                conv(64, "same"), conv(64, "valid"), layers.MaxPooling2D(), layers.Flatten(),
                layers.Dense(512, activation="relu"), layers.Dropout(0.5), layers.Dense(10)]
    elif name in ("lstm", "gru"):
        shape, optimizer = (50, 64), keras.optimizers.Adam(1e-3)
        body = [(layers.LSTM if name == "lstm" else layers.GRU)(128), layers.Dense(10)]
    elif name in ("mobilenet", "resnet"):
        options = {"weights": None, "classes": 10, "classifier_activation": None}
        if name == "mobilenet":
            model = keras.applications.MobileNetV2((96, 96, 3), **options)
            return model, (96, 96, 3), keras.optimizers.Adam(1e-3)
        model = keras.applications.ResNet50(input_shape=(64, 64, 3), **options)
        return model, (64, 64, 3), keras.optimizers.SGD(1e-3)
    else:
        sys.exit(f"expected mlp, cnn, cifar, lstm, gru, mobilenet or resnet, got {name}")
    return keras.Sequential([keras.Input(shape)] + body), shape, optimizer


def main():
    name, batch_size, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    model, shape, optimizer = make_work(name)
    random = np.random.default_rng(0)
    rows = batch_size * steps
    x = random.random((rows, *shape), dtype=np.float32)
    y = random.integers(0, 10, (rows,))
    model.compile(optimizer=optimizer,
                  loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  metrics=["accuracy"], jit_compile="xla" in sys.argv)
    epoch = lambda: model.fit(x, y, batch_size=batch_size, epochs=1, verbose=0)
    epoch()
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        epoch()
        print((time.perf_counter() - start) / steps * 1e3, flush=True)


main()
