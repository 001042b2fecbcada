# SPDX-License-Identifier: Apache-2.0
"""The public names of Keras, module by module: each with the name under which its class is defined,
which differs for aliases (Convolution2D is Conv2D)."""

import inspect

import keras

MODULES = ["layers", "losses", "metrics", "optimizers", "optimizers.schedules", "initializers",
           "regularizers", "constraints", "quantizers", "activations", "callbacks", "applications",
           "random", "ops", "ops.image"]
HELPERS = {"get", "serialize", "deserialize"}


def members(module, wanted):
    found = {}
    for name in sorted(dir(module)):
        member = getattr(module, name)
        if not name.startswith("_") and name not in HELPERS and wanted(member):
            found[name] = getattr(member, "__name__", name)
    return found


def names(path):
    module = keras
    for part in path.split("."):
        module = getattr(module, part)
    if path == "applications":  # each in a separate module, which also has functions
        return members(module, lambda x: callable(x) and not inspect.ismodule(x))
    of_functions = path in ("activations", "random") or path.startswith("ops")
    return members(module, inspect.isroutine if of_functions else inspect.isclass)


def make():
    return [{"name": f"keras.{path}", "names": list(own), "classes": list(own.values())}
            for path in MODULES if (own := names(path))]
