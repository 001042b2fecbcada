# SPDX-License-Identifier: Apache-2.0
"""Checks a MobileNetV2 that Cornu saved to a folder (cornu.keras, cornu.weights.h5, its outputs in
cornu.values.h5), and saves one of real Keras with random weights there, in all of its formats.

usage: keras_weights.py FOLDER
"""
import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import h5py  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
from keras.src.legacy.saving import legacy_h5_format  # noqa: E402

OPTIONS = {"input_shape": (64, 96, 3), "alpha": 0.35, "include_top": False, "pooling": "avg"}


def randomize(model):
    rng = np.random.default_rng(5)
    for weight in model.weights:
        if weight.name in ("gamma", "moving_variance"):
            weight.assign(rng.uniform(0.5, 1.5, weight.shape))
        elif weight.name in ("beta", "moving_mean"):
            weight.assign(rng.uniform(-0.5, 0.5, weight.shape))


def save(folder):
    keras.utils.set_random_seed(3)
    model = keras.applications.MobileNetV2(weights=None, **OPTIONS)
    randomize(model)
    model.save(os.path.join(folder, "keras.keras"))
    model.save_weights(os.path.join(folder, "keras.weights.h5"))
    model.save(os.path.join(folder, "whole.h5"))
    with h5py.File(os.path.join(folder, "legacy.h5"), "w", libver="earliest") as file:
        legacy_h5_format.save_weights_to_hdf5_group(file, model)
    pictures = np.random.default_rng(6).uniform(0, 255, (3, 64, 96, 3)).astype("float32")
    y = model.predict(keras.applications.mobilenet_v2.preprocess_input(pictures.copy()), verbose=0)
    with h5py.File(os.path.join(folder, "keras.values.h5"), "w") as values:
        values["x"], values["y"] = pictures, y


def check(folder):
    with h5py.File(os.path.join(folder, "cornu.values.h5")) as values:
        x, y = values["x"][()], values["y"][()]
    x = keras.applications.mobilenet_v2.preprocess_input(x)
    model = keras.saving.load_model(os.path.join(folder, "cornu.keras"))
    np.testing.assert_allclose(model.predict(x, verbose=0), y, rtol=1e-4, atol=1e-4)
    model = keras.applications.MobileNetV2(
        weights=os.path.join(folder, "cornu.weights.h5"), **OPTIONS)
    np.testing.assert_allclose(model.predict(x, verbose=0), y, rtol=1e-4, atol=1e-4)


check(sys.argv[1])
save(sys.argv[1])
