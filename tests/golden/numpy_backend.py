# SPDX-License-Identifier: Apache-2.0
"""Runs Keras on its NumPy backend, in a separate process.

For the few functions that behave as documented there but not on TensorFlow; also, the random
numbers can be given.
"""

import importlib
import os
import pickle
import subprocess
import sys
from unittest import mock


def results(calls):
    """Returns the outputs of calls. Each call is a dictionary of a function's "name" in keras.ops,
    or the configuration of a "layer" with its "transformation", and "inputs", "keywords" and
    "drawn": the normal random numbers to use."""
    environment = os.environ | {"KERAS_BACKEND": "numpy"}
    process = subprocess.run([sys.executable, __file__], input=pickle.dumps(calls),
                             stdout=subprocess.PIPE, env=environment, check=True)
    return pickle.loads(process.stdout)


class Drawn:
    """Replaces NumPy's generator and returns the given numbers."""

    def __init__(self, numbers):
        self.numbers = list(numbers)

    def normal(self, size, loc=0.0, scale=1.0):
        array = self.numbers.pop(0)
        assert array.shape == tuple(size) and (loc, scale) == (0.0, 1.0)
        return array


def result(call):
    import keras
    import numpy as np
    import scipy.signal  # noqa: F401: it draws random numbers when imported

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
