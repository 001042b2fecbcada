# SPDX-License-Identifier: Apache-2.0
"""Layers under dtype policies: the dtypes of their weights and outputs, and their values."""

import common
import numpy as np
import tensorflow as tf
from keras import layers

POLICIES = ["mixed_bfloat16", "mixed_float16", "float64", "bfloat16", "float16"]


def table():
    """By name: a function from a dtype to the layer, its inputs, and whether it trains."""
    indices = np.array([[0, 6, 2], [5, 1, 2]], "int32")
    return {
        "dense": (lambda dtype: layers.Dense(4, "tanh", dtype=dtype), [(3, 5)], None),
        "conv2d": (
            lambda dtype: layers.Conv2D(3, 2, padding="same", activation="relu", dtype=dtype),
            [(2, 5, 4, 2)],
            None,
        ),
        "batch_normalization": (
            lambda dtype: layers.BatchNormalization(dtype=dtype), [(6, 3)], False),
        "batch_normalization_training": (
            lambda dtype: layers.BatchNormalization(dtype=dtype), [(6, 3)], True),
        "layer_normalization": (
            lambda dtype: layers.LayerNormalization(dtype=dtype), [(2, 3, 5)], None),
        "softmax": (lambda dtype: layers.Softmax(dtype=dtype), [(2, 3, 5)], None),
        "multi_head_attention": (
            lambda dtype: layers.MultiHeadAttention(2, 3, dtype=dtype), [(2, 3, 4), (2, 5, 4)], None),
        "lstm": (
            # TensorFlow can't make orthogonal matrices in bfloat16.
            lambda dtype: layers.LSTM(4, recurrent_initializer="glorot_uniform",
                                      return_sequences=True, dtype=dtype),
            [(2, 4, 3)],
            None,
        ),
        "embedding": (lambda dtype: layers.Embedding(7, 3, dtype=dtype), [indices], None),
    }


def typed(value):
    """Encodes a tensor; 16-bit numbers are written as float32, which represents them exactly."""
    value = tf.convert_to_tensor(value)
    name = value.dtype.name
    return common.tensor(tf.cast(value, tf.float32) if "float16" in name else value) | {"dtype": name}


def variable(weight):
    return {"path": weight.path, "name": weight.name} | typed(weight.value)


def run(name, make_layer, policy, inputs, training):
    rng = common.start(name)
    layer = make_layer(policy)
    inputs = [x if isinstance(x, np.ndarray) else common.normal(rng, x) for x in inputs]
    if policy == "float64":  # Keras normalizes float32 inputs in float32
        inputs = [x.astype("float64") if x.dtype == "float32" else x for x in inputs]
    several = len(inputs) > 1
    layer.build(*[x.shape for x in inputs])
    for weight in layer.weights:
        if "variance" in weight.name:
            weight.assign(common.uniform(rng, weight.shape, 0.3, 2.0))
        else:
            weight.assign(common.normal(rng, weight.shape, 0.5))
    before = [variable(weight) for weight in layer.weights]
    arguments = {} if training is None else {"training": training}
    output = layer(*[tf.constant(x) for x in inputs], **arguments)
    names = {"names": ["query", "value"], "built": 2} if several else {}
    return {
        "name": name,
        "object": common.serialize(layer),
        "call_arguments": {"training": training} | names,
        "inputs": [common.tensor(x) for x in inputs],
        "weights": before,
        "outputs": [typed(output)],
        "weights_after": [variable(weight) for weight in layer.weights],
    }


def make():
    return [run(f"{name}_{policy}", make_layer, policy, inputs, training)
            for name, (make_layer, inputs, training) in table().items() for policy in POLICIES]
