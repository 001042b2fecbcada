# SPDX-License-Identifier: Apache-2.0
"""The arguments of Keras's public classes, and of Input, module by module."""

import inspect

import golden_surface
import keras

BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def arguments(made):
    parameters = inspect.signature(made).parameters.values()
    return [each.name for each in parameters if each.kind in BY_NAME]


def of_module(path):
    module = keras
    for part in path.split("."):
        module = getattr(module, part)
    found = {name: arguments(getattr(module, name)) for name in golden_surface.names(path)}
    return found | ({"Input": arguments(keras.Input)} if path == "layers" else {})


def make():
    functions = ("activations", "applications", "random", "ops", "ops.image")
    return [{"name": f"keras.{path}", "arguments": of_module(path)}
            for path in golden_surface.MODULES if path not in functions]
