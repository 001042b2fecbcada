# SPDX-License-Identifier: Apache-2.0
"""The public names of keras.ops and keras.ops.image."""

from keras import ops


def public(module):
    return sorted(name for name in dir(module)
                  if not name.startswith("_") and callable(getattr(module, name)))


def make():
    image = ["image." + name for name in public(ops.image)]
    return [{"name": "keras.ops", "names": public(ops) + image}]
