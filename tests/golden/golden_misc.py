# SPDX-License-Identifier: Apache-2.0
"""Regularizers, constraints, initializers."""

import math

import common
import keras
import numpy as np
import tensorflow as tf
from keras import constraints, initializers, regularizers

SHAPES = {
    "vector": (6,),
    "dense": (8, 5),
    "conv": (3, 2, 4, 6),
    "depthwise": (3, 3, 4, 2),
}


def regularizer_cases():
    yield "l1", regularizers.L1()
    yield "l1_factor", regularizers.L1(0.3)
    yield "l2", regularizers.L2()
    yield "l2_factor", regularizers.L2(0.3)
    yield "l1_l2", regularizers.L1L2(0.1, 0.2)
    yield "l1_l2_default", regularizers.L1L2()
    yield "orthogonal_rows", regularizers.OrthogonalRegularizer(0.5)
    yield "orthogonal_columns", regularizers.OrthogonalRegularizer(0.5, mode="columns")
    yield "l1_none", regularizers.L1(0.0)
    yield "l2_none", regularizers.L2(0.0)
    yield "l1_l2_of_one", regularizers.L1L2(l1=0.5)
    yield "orthogonal_default", regularizers.OrthogonalRegularizer()


def run_regularizer(name, regularizer):
    x = tf.constant(common.normal(common.start(name), (3, 4)))
    with tf.GradientTape() as tape:
        tape.watch(x)
        value = regularizer(x)
    return {
        "name": f"regularizer_{name}",
        "kind": "regularizer",
        "object": common.serialize(regularizer),
        "x": common.tensor(x),
        "value": common.tensor(value),
        "gradient": common.tensor(tape.gradient(value, x)),
    }


def constraint_cases():
    matrix, kernel = (3, 4), (2, 2, 2, 3)
    yield "max_norm", constraints.MaxNorm(), matrix
    yield "max_norm_axis1", constraints.MaxNorm(0.5, axis=1), matrix
    yield "max_norm_kernel", constraints.MaxNorm(1.0, axis=[0, 1, 2]), kernel
    yield "non_neg", constraints.NonNeg(), matrix
    yield "unit_norm", constraints.UnitNorm(), matrix
    yield "unit_norm_axis1", constraints.UnitNorm(axis=1), matrix
    yield "unit_norm_kernel", constraints.UnitNorm(axis=[0, 1, 2]), kernel
    yield "min_max_norm", constraints.MinMaxNorm(0.5, 1.0), matrix
    yield "min_max_norm_rate", constraints.MinMaxNorm(0.5, 1.0, rate=0.3, axis=1), matrix
    yield "min_max_norm_default", constraints.MinMaxNorm(), matrix
    yield "min_max_norm_kernel", constraints.MinMaxNorm(0.2, 0.9, 0.5, [0, 1, 2]), kernel
    yield "non_neg_kernel", constraints.NonNeg(), kernel
    yield "non_neg_vector", constraints.NonNeg(), (5,)
    yield "max_norm_vector", constraints.MaxNorm(0.5), (5,)
    yield "unit_norm_vector", constraints.UnitNorm(), (5,)


def run_constraint(name, constraint, shape):
    x = common.normal(common.start(name), shape)
    if len(shape) == 2:
        x[:, 1] *= 0.125
        x[:, 2] = 0.0
    return {
        "name": f"constraint_{name}",
        "kind": "constraint",
        "object": common.serialize(constraint),
        "x": common.tensor(x),
        "value": common.tensor(constraint(keras.ops.convert_to_tensor(x))),
    }


WINDOWS = [
    "barthann",
    "bartlett",
    "blackmanharris",
    "bohman",
    "boxcar",
    "cosine",
    "exponential",
    "flattop",
    "hann",
    "lanczos",
    "nuttall",
    "parzen",
    "taylor",
    "triang",
    "tukey",
]


def fixed_initializer_cases():
    yield "zeros", initializers.Zeros(), (2, 3)
    yield "ones", initializers.Ones(), (2, 3)
    yield "constant", initializers.Constant(0.25), (2, 3)
    yield "identity", initializers.Identity(), (3, 3)
    yield "identity_gain", initializers.Identity(gain=2.5), (3, 2)
    yield "identity_wide", initializers.Identity(), (2, 5)
    yield "constant_one", initializers.Constant(-2.0), (1,)
    yield "constant_default", initializers.Constant(), (3, 1, 2)
    matrix = keras.ops.convert_to_tensor([[1.5, -2.0, 0.0], [0.25, 3.0, 1.0]])
    yield "constant_matrix", initializers.Constant(matrix), (2, 3)
    yield "constant_rows", initializers.Constant(matrix), (2, 2, 3)
    column = keras.ops.convert_to_tensor([[4], [-1]], dtype="int32")
    yield "constant_column", initializers.Constant(column), (2, 3)
    stft = initializers.STFT
    yield "stft", stft(), (8, 1, 5)
    yield "stft_large", stft(periodic=True), (200, 1, 9)
    yield "stft_imag", stft("imag", "hamming", "spectrum", True), (6, 1, 7)
    yield "stft_no_window", stft("imag", None, "density"), (4, 1, 3)
    yield "stft_no_scaling", stft("real", "blackman", None, True), (7, 1, 2)
    yield "stft_values", stft(window=[0.5, 1.0, -2.0, 0.25]), (4, 1, 3)
    yield "stft_one_sample", stft(), (1, 1, 3)
    for window in WINDOWS:
        for periodic in [False, True]:
            name = f"stft_{window}_{'periodic' if periodic else 'symmetric'}"
            for size in [6, 7]:
                yield f"{name}_{size}", stft("real", window, None, periodic), (size, 1, 2)


def random_initializer_cases():
    yield "random_normal", initializers.RandomNormal(mean=0.5, stddev=0.2, seed=3)
    yield "random_uniform", initializers.RandomUniform(minval=-0.3, maxval=0.1, seed=3)
    yield "truncated_normal", initializers.TruncatedNormal(mean=0.5, stddev=0.2, seed=3)
    for name in ["Glorot", "He", "Lecun"]:
        for distribution in ["Normal", "Uniform"]:
            cls = getattr(initializers, name + distribution)
            yield f"{name.lower()}_{distribution.lower()}", cls(seed=3)
    for mode in ["fan_in", "fan_out", "fan_avg"]:
        for distribution in ["truncated_normal", "untruncated_normal", "uniform"]:
            yield f"variance_scaling_{mode}_{distribution}", initializers.VarianceScaling(
                scale=1.5, mode=mode, distribution=distribution, seed=3
            )


def fans(shape):
    if len(shape) == 1:
        return shape[0], shape[0]
    receptive = math.prod(shape[:-2])
    return shape[-2] * receptive, shape[-1] * receptive


def truncated(mean, stddev):
    """Statistics of a normal distribution with this stddev, truncated at two stddevs."""
    density, mass = math.exp(-2.0) / math.sqrt(2 * math.pi), math.erf(math.sqrt(2.0))
    return {
        "mean": mean,
        "stddev": stddev * math.sqrt(1 - 4 * density / mass),
        "min": mean - 2 * stddev,
        "max": mean + 2 * stddev,
    }


def scaling_statistics(config, fan_in, fan_out):
    fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}
    scale = config["scale"] / max(1.0, fan[config["mode"]])
    if config["distribution"] == "uniform":
        limit = math.sqrt(3 * scale)
        return {"mean": 0.0, "stddev": limit / math.sqrt(3), "min": -limit, "max": limit}
    if config["distribution"] == "truncated_normal":
        return truncated(0.0, math.sqrt(scale) / 0.87962566103423978)
    return {"mean": 0.0, "stddev": math.sqrt(scale), "min": None, "max": None}


def statistics(initializer, fan_in, fan_out):
    if isinstance(initializer, initializers.VarianceScaling):
        config = {
            key: getattr(initializer, key) for key in ("scale", "mode", "distribution")
        }
        return scaling_statistics(config, fan_in, fan_out)
    if isinstance(initializer, initializers.RandomUniform):
        low, high = initializer.minval, initializer.maxval
        stddev = (high - low) / math.sqrt(12)
        return {"mean": (low + high) / 2, "stddev": stddev, "min": low, "max": high}
    mean, stddev = initializer.mean, initializer.stddev
    if isinstance(initializer, initializers.TruncatedNormal):
        return truncated(mean, stddev)
    return {"mean": mean, "stddev": stddev, "min": None, "max": None}


def check(initializer, expected, shape):
    """Checks that a draw of Keras agrees with the expected statistics."""
    if len(shape) < 3 and not isinstance(initializer, initializers.VarianceScaling):
        shape = (200, 100)
    values = np.asarray(initializer(shape), "float64")
    tolerance = 5 * expected["stddev"] / math.sqrt(values.size)
    assert abs(values.mean() - expected["mean"]) < tolerance, initializer
    assert abs(values.std() / expected["stddev"] - 1) < 5 / math.sqrt(values.size), initializer
    assert expected["min"] is None or values.min() >= expected["min"] - 1e-6
    assert expected["max"] is None or values.max() <= expected["max"] + 1e-6


def random_initializers():
    for name, initializer in random_initializer_cases():
        common.start(name)
        for kind, shape in SHAPES.items():
            fan_in, fan_out = fans(shape)
            expected = statistics(initializer, fan_in, fan_out)
            check(initializer, expected, shape)
            yield {
                "name": f"initializer_{name}_{kind}",
                "kind": "random_initializer",
                "object": common.serialize(initializer),
                "shape": shape,
                "fan_in": fan_in,
                "fan_out": fan_out,
                "statistics": expected,
            }
    for shape in [(5, 3), (3, 5), (2, 3, 4)]:
        initializer = initializers.Orthogonal(gain=1.5, seed=3)
        yield {
            "name": "initializer_orthogonal_" + "x".join(map(str, shape)),
            "kind": "orthogonal_initializer",
            "object": common.serialize(initializer),
            "shape": shape,
            "gain": 1.5,
        }


def fixed_initializers():
    for name, initializer, shape in fixed_initializer_cases():
        yield {
            "name": f"initializer_{name}",
            "kind": "initializer",
            "object": common.serialize(initializer),
            "shape": shape,
            "value": common.tensor(initializer(shape)),
        }


def make():
    return [
        *(run_regularizer(*case) for case in regularizer_cases()),
        *(run_constraint(*case) for case in constraint_cases()),
        *fixed_initializers(),
        *random_initializers(),
    ]
