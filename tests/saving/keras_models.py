# SPDX-License-Identifier: Apache-2.0
"""Opens the models in a folder with real Keras, and writes them back.

For each NAME.keras, there are NAME.values.h5, with inputs x/0, … and predictions y/0, …,
NAME.weights.h5 and NAME.h5, the whole model in the format of Keras 2. Keras must predict the same
from each, and have the same optimizer; it then saves back_NAME.keras and back_NAME.weights.h5.
branches.weights.h5 belongs to the subclassed model below.
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
    """Returns names and versions in a file of Keras 2's format, and each group's arrays in order.
    """
    def texts(values):
        return [v.decode() if hasattr(v, "decode") else v for v in np.atleast_1d(values)]

    with h5py.File(path) as file:
        model = file["model_weights"]
        groups = [model[name] for name in [*model.attrs["layer_names"], "top_level_model_weights"]]
        if "optimizer_weights" in file:
            groups.append(file["optimizer_weights"])
        about = [texts(part.attrs[key]) for part in (file, model) for key in ("keras_version", "backend")]
        return (sorted(file.attrs), about, texts(model.attrs["layer_names"]),
                [[group[name][()] for name in group.attrs["weight_names"]] for group in groups])


def check_legacy(path, model, x, expected):
    """Checks the same model in the format of Keras 2, as Keras reads and writes it."""
    legacy = keras.saving.load_model(path)
    compare(legacy, x, expected, path.name)
    assert legacy.compiled == model.compiled, path.name
    if model.compiled:
        assert legacy.loss is not None, path.name
        assert type(legacy.optimizer) is type(model.optimizer), path.name
        parts = type(model.optimizer).__name__ in ("LossScaleOptimizer", "MultiOptimizer")
        if not parts:  # Keras restores none of these from its own files in this format
            assert legacy.optimizer.iterations.numpy() == model.optimizer.iterations.numpy()
    own = path.with_name("own_" + path.name)
    try:
        model.save(own)
    except (TypeError, ValueError) as error:  # duplicate weight names, layers with generators
        assert "name already exists" in str(error) or "cannot pickle" in str(error), path.name
        return
    if path.stem == "lora":  # this format has the small kernels next to the others, not their sum
        return
    *ours, our_weights = contents(path)
    *theirs, their_weights = contents(own)
    assert ours == theirs, (path.name, ours, theirs)
    for a, b in zip(our_weights, their_weights, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y, err_msg=path.name)


def check(path):
    name = path.stem
    with h5py.File(path.with_name(name + ".values.h5")) as values:
        x, expected = read(values["x"]), read(values["y"])
        iterations = values["iterations"][()] if "iterations" in values else None
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Skipping variable loading")  # an optimizer's state
        model = keras.saving.load_model(path)
    compare(model, x, expected, f"{name}: the whole model")
    if name == "cnn":
        metrics = model.get_compile_config()["metrics"]
        assert [metric["config"]["dtype"] for metric in metrics[1:]] == ["float64", "float16"]
    if iterations is not None:
        assert model.optimizer.iterations.numpy() == iterations, name
        assert len(model.optimizer.variables) > 2, name
    if name != "shared_between":  # Keras's clones have two copies of it
        clone = keras.models.clone_model(model)
        clone.load_weights(path.with_name(name + ".weights.h5"))
        compare(clone, x, expected, f"{name}: the weights alone")
    model.save(path.with_name("back_" + name + ".keras"))
    model.save_weights(path.with_name("back_" + name + ".weights.h5"))
    # Last, since saving to HDF5 removes the optimizer from the model's compile config.
    check_legacy(path.with_suffix(".h5"), model, x, expected)


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
