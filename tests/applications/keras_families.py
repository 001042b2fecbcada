# SPDX-License-Identifier: Apache-2.0
"""Saves weights and predictions of real Keras's models to a folder, and the weights also in the
format of keras.applications, in models/ under the names of the cached files.

usage: keras_families.py FOLDER FUNCTION=SIZE...
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

CACHED = {"InceptionV3": "inception_v3"}


def save(folder, function, size):
    keras.utils.clear_session()
    keras.utils.set_random_seed(3)
    model = getattr(keras.applications, function)(
        weights=None, include_top=False, pooling="avg", input_shape=(size, size, 3))
    rng = np.random.default_rng(5)
    for weight in model.weights:
        if weight.name in ("gamma", "moving_variance"):
            weight.assign(rng.uniform(0.8, 1.2, weight.shape))
        elif weight.name in ("beta", "moving_mean", "bias"):
            weight.assign(rng.uniform(-0.1, 0.1, weight.shape))
    model.save_weights(os.path.join(folder, function + ".weights.h5"))
    name = CACHED.get(function, function.lower())
    path = os.path.join(folder, "models", name + "_weights_tf_dim_ordering_tf_kernels_notop.h5")
    with h5py.File(path, "w", libver="earliest") as file:
        legacy_h5_format.save_weights_to_hdf5_group(file, model)
    x = rng.uniform(-1, 1, (2, size, size, 3)).astype("float32")
    with h5py.File(os.path.join(folder, function + ".values.h5"), "w") as values:
        values["x"], values["y"] = x, model.predict(x, verbose=0)


os.mkdir(os.path.join(sys.argv[1], "models"))
for item in sys.argv[2:]:
    save(sys.argv[1], item.split("=")[0], int(item.split("=")[1]))
