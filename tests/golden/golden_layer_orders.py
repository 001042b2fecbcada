# SPDX-License-Identifier: Apache-2.0
"""Functional models where the order of layers, by which files number them, depends on how many
nodes an op consists of: their JSON, and the order."""
import json

import keras
from keras import layers, ops

BRANCHES = {
    "silu": ops.silu,
    "gelu": ops.gelu,
    "mean": lambda x: x * ops.mean(x, axis=-1, keepdims=True),
    "var": lambda x: x * ops.var(x, axis=-1, keepdims=True),
    "std": lambda x: x / ops.std(x, axis=-1, keepdims=True),
    "logsumexp": lambda x: x - ops.logsumexp(x, axis=-1, keepdims=True),
    "stack": lambda x: ops.sum(ops.stack([x, x], -1), -1),
    "einsum": lambda x: ops.einsum("bi,bi->bi", x, x),
    "softmax": ops.softmax,
    "normalize": ops.normalize,
    "cast": lambda x: ops.cast(x, "float32"),  # a no-op
    "identity": lambda x: ops.reshape(x, (-1, 4)),
    "split": lambda x: ops.concatenate(ops.split(x, 2, -1), -1),
    "key": lambda x: x[:, ::-1],
    "keys": lambda x: ops.squeeze(x[:, None, ::2], 1) @ ops.ones((2, 4)),
    "where": lambda x: ops.where(x > 0, x, 2 * x),
    "take": lambda x: ops.take(x, [3, 2, 1, 0], axis=1),
    "mixed": lambda x: x * ops.cast(x > 0, "int32"),
    "clip": lambda x: ops.clip(x, -1, 1),
    "repeat": lambda x: ops.max(ops.reshape(ops.repeat(x, 2, 1), (-1, 4, 2)), -1),
    "first": lambda x: ops.top_k(x, 4)[0],
    "second": lambda x: ops.cast(ops.top_k(x, 4)[1], "float32"),
    "both": lambda x: ops.add(*ops.moments(x, axes=-1, keepdims=True)) + x,
    "flip": lambda x: ops.flip(x, axis=1),
    "dot": lambda x: ops.tensordot(x, ops.ones((4, 4)), 1),
}


def rectified(x, times):
    for _ in range(times):
        x = ops.relu(x)
    return x


def make():
    cases = []
    for name, branch in BRANCHES.items():
        for times in (1, 2):
            for swapped in (False, True):
                keras.utils.clear_session()
                x = keras.Input((4,))
                first, second = layers.Dense(4)(x), layers.Dense(4)(x)
                ends = [branch(first), rectified(second, times)]
                model = keras.Model(x, layers.Add()(ends[::-1] if swapped else ends))
                cases.append({"name": f"{name}_{times}_{swapped}",
                              "model": json.loads(model.to_json()),
                              "layers": [layer.name for layer in model.layers]})
    return cases
