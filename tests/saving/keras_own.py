# SPDX-License-Identifier: Apache-2.0
"""Classes of a program's own in files of Keras, in the folder given.

Writes named.keras, with a layer and a loss that have the names of Keras's and aren't registered,
and nested_false.keras and nested_true.keras, with a model that is called with dictionaries. Reads pyramid.keras, which Cornu wrote, and writes back_pyramid.keras. Values are in NAME.values.h5.
"""
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import h5py  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402


class RMSNormalization(keras.layers.Layer):
    def build(self, input_shape):
        self.scale = self.add_weight(name="scale", shape=input_shape[-1:], initializer="zeros")
        super().build(input_shape)

    def call(self, x):
        rms = keras.ops.sqrt(keras.ops.mean(keras.ops.square(x), -1, keepdims=True) + 1e-6)
        return x / rms * (1 + self.scale)


class Huber(keras.losses.Loss):
    def call(self, y_true, y_pred):
        return keras.ops.mean(keras.ops.abs(y_true - y_pred), -1) * 3


RMSNormalization.__module__ = "gemma.rms_normalization"
Huber.__module__ = "gemma.losses"


@keras.saving.register_keras_serializable("own_test")
class Pyramid(keras.layers.Layer):
    def build(self, input_shapes):
        shapes = input_shapes["levels"]
        self.scales = [
            self.add_weight(name=f"scale_{name}", shape=shapes[name][-1:]) for name in sorted(shapes)
        ]

    def call(self, inputs):
        levels = inputs["levels"]
        return sum(levels[name] * scale for name, scale in zip(sorted(levels), self.scales))


def write(path, x, y):
    with h5py.File(path, "w") as file:
        file["x/0"], file["y/0"] = x, y


def write_named(folder):
    x = np.random.default_rng(1).normal(size=(3, 4)).astype("float32")
    end = keras.Input((4,))
    layer = RMSNormalization(name="norm")
    model = keras.Model(end, layer(end))
    layer.scale.assign([0.5, -1, 2, 0])
    model.compile("sgd", loss=Huber(name="huber"))
    model.save(folder / "named.keras")
    write(folder / "named.values.h5", x, model.predict(x, verbose=0))


def check_pyramid(folder):
    model = keras.saving.load_model(folder / "pyramid.keras")
    with h5py.File(folder / "pyramid.values.h5") as values:
        x = {"P3": values["x/0"][()], "P4": values["x/1"][()]}
        np.testing.assert_allclose(model.predict(x, verbose=0), values["y/0"][()], 1e-5, 1e-5)
    assert [w.name for w in model.weights] == ["scale_P3", "scale_P4"]
    model.save(folder / "back_pyramid.keras")


def write_nested(folder):
    """A model called with nested dictionaries, one of whose tensors has a mask."""
    ends = {"a": keras.Input((5, 4)), "z": {"b": keras.Input((5, 4))}}
    total = keras.layers.Add()([ends["a"], ends["z"]["b"]])
    inner = keras.Model(ends, keras.layers.LSTM(2)(total), name="inner")
    p, q = keras.Input((5,), name="p"), keras.Input((5, 4), name="q")
    for masked in False, True:
        e = keras.layers.Embedding(7, 4, mask_zero=masked)(p)
        model = keras.Model([p, q], inner({"a": e, "z": {"b": q}}))
        x = [np.array([[1, 2, 0, 0, 0]], "float32"), np.ones((1, 5, 4), "float32")]
        name = f"nested_{masked}".lower()
        model.save(folder / f"{name}.keras")
        with h5py.File(folder / f"{name}.values.h5", "w") as file:
            file["x/0"], file["x/1"], file["y/0"] = *x, model.predict(x, verbose=0)


def main():
    folder = pathlib.Path(sys.argv[1])
    write_named(folder)
    write_nested(folder)
    check_pyramid(folder)


main()
