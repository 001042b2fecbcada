# SPDX-License-Identifier: Apache-2.0
"""Opens the models in a folder with real Keras, and writes them back.

For each NAME.keras there are NAME.values.h5, with inputs x/0, … and predictions y/0, …,
NAME.weights.h5 and NAME.h5, the whole model in the form of Keras 2. Keras must predict the same from
each, and have the same optimizer; back_NAME.keras and back_NAME.weights.h5 are what it then saves. branches.weights.h5 is of the subclassed model below.
"""
import os
import pathlib
import sys
import warnings

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import h5py  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402

TOLERANCE = 1e-5


def read(group):
    return [group[str(i)][()] for i in range(len(group))]


def compare(model, x, expected, what):
    found = model.predict(x if len(x) > 1 else x[0], verbose=0)
    found = list(found.values()) if isinstance(found, dict) else found
    found = found if isinstance(found, list) else [found]
    assert len(found) == len(expected), (what, len(found), len(expected))
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE, err_msg=what)


def contents(path):
    """Attributes and arrays of an HDF5 file, by their paths."""
    found = {}

    def add(name, thing):
        for key, value in thing.attrs.items():
            if key not in ("model_config", "training_config"):
                texts = [v.decode() if hasattr(v, "decode") else v for v in np.atleast_1d(value)]
                found[f"{name}@{key}"] = texts
        found[name] = thing[()] if isinstance(thing, h5py.Dataset) else "a group"

    with h5py.File(path) as file:
        add("", file)
        file.visititems(add)
    return found


def check_legacy(path, model, x, expected):
    """The same model in the form of Keras 2: as Keras reads and writes it."""
    legacy = keras.saving.load_model(path)
    compare(legacy, x, expected, path.name)
    assert (legacy.optimizer is None) == (model.optimizer is None), path.name
    own = path.with_name("own_" + path.name)
    model.save(own)
    ours, theirs = contents(path), contents(own)
    assert sorted(ours) == sorted(theirs), (path.name, sorted(set(ours) ^ set(theirs)))
    for key, value in theirs.items():
        np.testing.assert_array_equal(ours[key], value, err_msg=f"{path.name}: {key}")
    if model.optimizer is not None:
        assert legacy.loss is not None, path.name
        assert legacy.optimizer.iterations.numpy() == model.optimizer.iterations.numpy()
        assert type(legacy.optimizer) is type(model.optimizer), path.name


def check(path):
    name = path.stem
    with h5py.File(path.with_name(name + ".values.h5")) as values:
        x, expected = read(values["x"]), read(values["y"])
        iterations = values["iterations"][()] if "iterations" in values else None
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Skipping variable loading")  # an optimizer's state
        model = keras.saving.load_model(path)
    compare(model, x, expected, f"{name}: the whole model")
    if iterations is not None:
        assert model.optimizer.iterations.numpy() == iterations, name
        assert len(model.optimizer.variables) > 2, name
    check_legacy(path.with_suffix(".h5"), model, x, expected)
    clone = keras.models.clone_model(model)
    clone.load_weights(path.with_name(name + ".weights.h5"))
    compare(clone, x, expected, f"{name}: the weights alone")
    model.save(path.with_name("back_" + name + ".keras"))
    model.save_weights(path.with_name("back_" + name + ".weights.h5"))


class Branches(keras.Model):
    def __init__(self):
        super().__init__()
        self.zed = keras.layers.Dense(4)
        self.early = keras.layers.Dense(4, activation="relu")
        self.mid = keras.layers.BatchNormalization()
        self._last = keras.layers.Dense(2)

    def call(self, x, training=None):
        return self._last(self.mid(self.early(self.zed(x)), training=training))


def check_subclassed(folder):
    with h5py.File(folder / "branches.values.h5") as values:
        x, expected = read(values["x"]), read(values["y"])
    model = Branches()
    model(x[0])
    model.load_weights(folder / "branches.weights.h5")
    compare(model, x, expected, "a subclassed model")
    model.save_weights(folder / "back_branches.weights.h5")


def main():
    models = sorted(pathlib.Path(sys.argv[1]).glob("*.keras"))
    assert models, "no models"
    for path in models:
        check(path)
        print("fine:", path.name)
    check_subclassed(pathlib.Path(sys.argv[1]))


main()
