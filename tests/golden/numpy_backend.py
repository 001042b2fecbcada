# SPDX-License-Identifier: Apache-2.0
"""What Keras computes on its NumPy backend, in a process of its own.

For the few functions that do what they document there, but not on TensorFlow; and what they draw
can be given.
"""

import importlib
import os
import pickle
import subprocess
import sys
from unittest import mock


def results(calls):
    """The outputs of calls, each a dictionary of a function's "name" in keras.ops, or the
    configuration of a "layer" with its "transformation", and "inputs", "keywords" and "drawn":
    the normal numbers that it draws."""
    environment = os.environ | {"KERAS_BACKEND": "numpy"}
    process = subprocess.run([sys.executable, __file__], input=pickle.dumps(calls),
                             stdout=subprocess.PIPE, env=environment, check=True)
    return pickle.loads(process.stdout)


class Drawn:
    """Instead of NumPy's generator: gives these numbers."""

    def __init__(self, numbers):
        self.numbers = list(numbers)

    def normal(self, size, loc=0.0, scale=1.0):
        array = self.numbers.pop(0)
        assert array.shape == tuple(size) and (loc, scale) == (0.0, 1.0)
        return array


def result(call):
    import keras
    import numpy as np
    import scipy.signal  # noqa: F401: it draws when it is imported

    generator = np.random.default_rng
    if call["drawn"]:
        drawn = Drawn(call["drawn"])
        np.random.default_rng = lambda *_: drawn
    try:
        if "layer" in call:
            layer = keras.saving.deserialize_keras_object(call["layer"])
            return np.asarray(layer.transform_images(call["inputs"][0], call["transformation"]))
        module = importlib.import_module("keras.ops")
        *folders, name = call["name"].split(".")
        for folder in folders:
            module = getattr(module, folder)
        return np.asarray(getattr(module, name)(*call["inputs"], **call["keywords"]))
    finally:
        np.random.default_rng = generator


if __name__ == "__main__":
    # The backend takes convolutions and Fourier transforms from JAX, which nothing here calls.
    for missing in ("jax", "jax.lax", "keras.src.backend.jax", "keras.src.backend.jax.math"):
        sys.modules[missing] = mock.MagicMock()
    sys.stdout.buffer.write(
        pickle.dumps([result(call) for call in pickle.loads(sys.stdin.buffer.read())]))
