# SPDX-License-Identifier: Apache-2.0
"""The public names of Keras's modules that golden_surface doesn't cover."""

import inspect

import golden_surface
import keras

ELSEWHERE = {"src", "legacy", "applications", "ops"}  # their modules have no further names


def walk(module, path):
    """Yields the names of each module with its path."""
    names = []
    for name in sorted(dir(module)):
        member = getattr(module, name)
        if name.startswith("_") or name in golden_surface.HELPERS:
            continue
        if not inspect.ismodule(member):
            names.append(name)
        elif member.__name__.startswith("keras.") and name not in ELSEWHERE:
            yield from walk(member, f"{path}.{name}")
    if path.removeprefix("keras.") not in golden_surface.MODULES and names:
        yield path, names


def make():
    return [{"name": path, "names": names} for path, names in sorted(walk(keras, "keras"))]
