# SPDX-License-Identifier: Apache-2.0
"""Helpers shared by the guides: data and weights that guide.h makes too, and encoding of results.
"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "golden"))

import common
import keras
import numpy as np
import tensorflow as tf

_tape_gradient = tf.GradientTape.gradient


def _dense_gradient(tape, *arguments, **options):
    """Returns dense gradients, as all other backends of Keras do.

    TensorFlow returns an embedding's gradient as rows, with separate ones for a repeated index;
    Keras's optimizers then take squares and norms of each.
    """
    def dense(gradient):
        sparse = isinstance(gradient, tf.IndexedSlices)
        return tf.convert_to_tensor(gradient) if sparse else gradient

    return tf.nest.map_structure(dense, _tape_gradient(tape, *arguments, **options))


tf.GradientTape.gradient = _dense_gradient


def _hash(count, seed):
    """A 32-bit number for each position (MurmurHash3's finalizer)."""
    h = np.arange(count, dtype="uint32") + np.uint32(seed * 0x9E3779B9 & 0xFFFFFFFF)
    h ^= h >> np.uint32(16)
    h *= np.uint32(0x85EBCA6B)
    h ^= h >> np.uint32(13)
    h *= np.uint32(0xC2B2AE35)
    return h ^ (h >> np.uint32(16))


def values(shape, seed, scale=1.0):
    """float32 numbers spread over [-scale, scale)."""
    unit = (_hash(int(np.prod(shape)), seed) >> np.uint32(8)).astype("float64") * 2.0**-23 - 1.0
    return (unit * scale).astype("float32").reshape(shape)


def positive(shape, seed):
    """float32 numbers spread over [0, 1)."""
    return (values(shape, seed) + np.float32(1)) / np.float32(2)


def labels(count, classes, seed):
    """Class indices, int32."""
    return (_hash(count, seed) % np.uint32(classes)).astype("int32")


def initialize(layer, seed):
    """Sets all weights of a layer or model to values that depend only on position and shape."""
    for number, weight in enumerate(layer.weights):
        shape, name = tuple(weight.shape), weight.name
        if len(shape) > 1:
            scale = float(np.sqrt(3.0 / np.prod(shape[:-1])))
            weight.assign(values(shape, seed + number, scale))
        elif name in ("gamma", "moving_variance"):
            weight.assign(np.float32(1) + values(shape, seed + number, 0.25))
        else:
            weight.assign(values(shape, seed + number, 0.125))


def logs(figures):
    """Encodes what evaluate, train_on_batch and callbacks return."""
    return {name: np.float32(value) for name, value in figures.items()}


def history(result):
    """Encodes what fit returns: a list per name, in the order of the logs."""
    return {name: [np.float32(x) for x in column] for name, column in result.history.items()}


def tensor(value):
    return common.tensor(keras.ops.convert_to_numpy(value))


def number(value):
    return np.float32(keras.ops.convert_to_numpy(value))


def summary(model, **arguments):
    parts = []
    model.summary(print_fn=parts.append, **arguments)
    return "".join(parts)
