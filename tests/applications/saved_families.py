# SPDX-License-Identifier: Apache-2.0
"""Whole models of real Keras's applications, for saved_families_test.cc.

make FOLDER FUNCTION=SIZE...   saves each, compiled, its predictions, and a training step's result
check FOLDER FUNCTION...       loads the models that Cornu saved, and compares their predictions
"""
import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import h5py  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402

CLASSES = 4
ROWS = 3


def set_weights(model, rng):
    for layer in model._flatten_layers():
        if hasattr(layer, "rate"):
            layer.rate = 0  # random numbers differ in training
        if isinstance(layer, keras.layers.Normalization) and layer.input_mean is None:
            layer.adapt_mean.assign(rng.uniform(0.3, 0.6, layer.adapt_mean.shape))
            layer.adapt_variance.assign(rng.uniform(0.05, 0.1, layer.adapt_variance.shape))
            layer.finalize_state()
        if type(layer).__name__ == "LayerScale":
            layer.gamma.assign(rng.uniform(0.1, 0.3, layer.gamma.shape))
    for weight in model.weights:
        if weight.name in ("gamma", "moving_variance"):
            weight.assign(rng.uniform(0.8, 1.2, weight.shape))
        elif weight.name in ("beta", "moving_mean", "bias"):
            weight.assign(rng.uniform(-0.1, 0.1, weight.shape))


def make(folder, function, size):
    keras.utils.clear_session()
    keras.utils.set_random_seed(3)
    model = getattr(keras.applications, function)(
        weights=None, classes=CLASSES, input_shape=(size, size, 3))
    rng = np.random.default_rng(5)
    set_weights(model, rng)
    x = rng.uniform(-1, 1, (ROWS, size, size, 3)).astype("float32")
    y = np.arange(ROWS, dtype="int32")
    model.compile(optimizer=keras.optimizers.SGD(1e-3), loss="sparse_categorical_crossentropy",
                  run_eagerly=True)  # a single step is faster to run than to trace
    model.save(os.path.join(folder, function + ".keras"))
    with h5py.File(os.path.join(folder, function + ".values.h5"), "w") as values:
        values["x"], values["y"] = x, y
        values["before"] = model(x, training=False).numpy()
        values["loss"] = np.float32(model.train_on_batch(x, y))
        values["after"] = model(x, training=False).numpy()


def check(folder, function):
    keras.utils.clear_session()
    model = keras.models.load_model(os.path.join(folder, function + ".cornu.keras"))
    with h5py.File(os.path.join(folder, function + ".values.h5")) as values:
        wanted = values["before"][:]
        off = np.abs(model(values["x"][:], training=False).numpy() - wanted).max()
    print(function, "in Keras again: off by", off)
    assert off < 1e-4 * max(1, np.abs(wanted).max()), function


for item in sys.argv[3:]:
    if sys.argv[1] == "make":
        make(sys.argv[2], item.split("=")[0], int(item.split("=")[1]))
    else:
        check(sys.argv[2], item)
