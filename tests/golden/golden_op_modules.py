# SPDX-License-Identifier: Apache-2.0
"""The modules of Keras's ops, by which files name them."""

import importlib
import inspect
import pkgutil

import keras


def make():
    cases = []
    for found in pkgutil.iter_modules(keras.src.ops.__path__, "keras.src.ops."):
        if found.name.endswith("_test"):
            continue
        module = importlib.import_module(found.name)
        classes = [member for member in vars(module).values() if inspect.isclass(member)]
        names = sorted(member.__name__ for member in classes
                       if issubclass(member, keras.Operation) and member.__module__ == found.name)
        if names:
            cases.append({"name": found.name, "classes": names})
    return cases
