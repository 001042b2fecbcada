# SPDX-License-Identifier: Apache-2.0
"""Activations: values and gradients, at random points and at the edges of their pieces."""

import common
import numpy as np
import tensorflow as tf
from keras import activations

NAMES = (
    "celu elu exponential gelu glu hard_shrink hard_sigmoid hard_silu hard_tanh leaky_relu linear "
    "log_sigmoid log_softmax mish relu relu6 selu sigmoid silu soft_shrink softmax softplus "
    "softsign sparse_plus sparse_sigmoid sparsemax squareplus tanh tanh_shrink"
)
VARIANTS = {
    "gelu_approximate": ("gelu", {"approximate": True}),
    "elu_alpha": ("elu", {"alpha": 0.5}),
    "celu_alpha": ("celu", {"alpha": 2.0}),
    "leaky_relu_slope": ("leaky_relu", {"negative_slope": 0.05}),
    "relu_all": ("relu", {"negative_slope": 0.1, "max_value": 1.5, "threshold": 0.25}),
    "softmax_axis0": ("softmax", {"axis": 0}),
    "log_softmax_axis0": ("log_softmax", {"axis": 0}),
    "sparsemax_axis0": ("sparsemax", {"axis": 0}),
    "glu_axis0": ("glu", {"axis": 0}),
    "hard_shrink_threshold": ("hard_shrink", {"threshold": 1.0}),
    "soft_shrink_threshold": ("soft_shrink", {"threshold": 1.0}),
    "squareplus_b": ("squareplus", {"b": 1}),
    "threshold": ("threshold", {"threshold": 0.5, "default_value": -1.0}),
}
EDGES = [
    [-1e4, -100, -30, -3, -1, -0.5, -0.0, 0, 0.5, 1, 3, 6, 30, 90, 1e4, 88],
]


def run(name, function, arguments, x, edges, case=None):
    rng = common.start(name)
    x = tf.constant(np.asarray(x, "float32"))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = getattr(activations, function)(x, **arguments)
    cotangent = tf.constant(common.normal(rng, y.shape))
    return {
        "name": case or name + ("_edges" if edges else ""),
        "activation": function,
        "arguments": arguments,
        "edges": edges,
        "x": common.tensor(x),
        "y": common.tensor(y),
        "output_gradient": common.tensor(cotangent),
        "input_gradient": common.tensor(tape.gradient(y, x, output_gradients=cotangent)),
    }


def make():
    table = {name: (name, {}) for name in NAMES.split()} | VARIANTS
    result = []
    for edges in [False, True]:
        for name, (function, arguments) in table.items():
            if edges and arguments:
                continue
            rng = np.random.default_rng(3)
            x = EDGES if edges else common.normal(rng, (4, 6), 2.5) + 0.003
            result.append(run(name, function, arguments, x, edges))
    for name in NAMES.split():
        # Keras's sparsemax is right when one element per row exceeds all others by 1.
        scale = 4.5 if name == "sparsemax" else 1.5
        x = common.normal(np.random.default_rng(5), (2, 3, 4), scale) + 0.003
        result.append(run(name, name, {}, x, False, f"{name}_sequences"))
    return result
