# SPDX-License-Identifier: Apache-2.0
"""Layers of numbers, categories and texts: what they learn from data, and what they give."""

import common
import numpy as np
import tensorflow as tf
from keras import layers


def case(name, layer, *inputs, adapt=None, batches=None, call=None):
    """layer: makes the layer; inputs: arrays, or shapes of random ones; each is a call of its own.

    adapt: an array, given as a whole; batches: arrays, given as a dataset of them.
    """
    return {"name": name, "layer": layer, "inputs": inputs, "adapt": adapt, "batches": batches,
            "call": call}


def floats(*values):
    return np.array(values, "float32")


def normalization_cases():
    make = layers.Normalization
    rows = floats([0, 7, 4], [2, 9, 6], [0.5, 7, 4], [2, 9, 6.5])
    for name, options in {
        "": {}, "_invert": {"invert": True}, "_none": {"axis": None},
        "_none_invert": {"axis": None, "invert": True}, "_both": {"axis": (0, 1)},
        "_axis0": {"axis": 0},
    }.items():
        make_it = lambda options=options: make(**options)
        yield case(f"normalization{name}", make_it, (4, 3), adapt=rows)
        if name != "_both" and name != "_axis0":
            yield case(f"normalization{name}_batches", make_it, (2, 3),
                       batches=[rows[:3], rows[3:], rows * 3 + 1])
    yield case("normalization_4d", lambda: make(axis=(1, -1)), (2, 3, 2, 4),
               batches=[common.normal(np.random.default_rng(1), (5, 3, 2, 4)),
                        common.normal(np.random.default_rng(2), (2, 3, 2, 4), 3.0)])
    yield case("normalization_integers", make, np.array([[1, 2], [3, 5]]), adapt=rows[:, :2])
    yield case("normalization_of_integers", make, (3, 2), adapt=np.array([[1, 2], [3, 9]]))
    yield case("normalization_constant_feature", make, (3, 2), adapt=floats([1, 2], [1, 3]))
    yield case("normalization_rows", make, (2, 3), batches=list(rows))
    yield case("normalization_scalars", lambda: make(axis=None), (4,), adapt=floats(1, 2, 3, 4, 5))
    yield case("normalization_given", lambda: make(mean=3.0, variance=2.0), (3, 2))
    yield case("normalization_given_list",
               lambda: make(mean=[0.1, 2.0], variance=[4.0, 0.25], invert=True), (3, 2))
    yield case("normalization_given_none", lambda: make(axis=None, mean=0.1, variance=0.3), (3, 2))
    yield case("normalization_given_2d",
               lambda: make(axis=(1, 2), mean=[[1.0], [2.0]], variance=[[0.5], [4.0]]), (2, 2, 3))
    yield case("normalization_given_last_of_two",
               lambda: make(axis=(1, 2), mean=[1.0, 2.0, 3.0], variance=[1.0, 2.0, 4.0]), (2, 2, 3))


MODES = ["one_hot", "multi_hot", "count"]


def discretization_cases():
    make = layers.Discretization
    data = floats(-3, 0, 0.5, 1, 7, 20, -0.1, 0.49)
    bounds = [-1.5, 0.0, 0.5, 10]
    yield case("discretization", lambda: make(bounds), data.reshape(2, 4), data[0],
               np.array([[-2, 0], [5, 10]]))
    yield case("discretization_no_boundaries", lambda: make([]), data)
    for mode in MODES:
        yield case(f"discretization_{mode}", lambda mode=mode: make(bounds, output_mode=mode),
                   data.reshape(2, 4), data.reshape(8, 1), data)
    rng = np.random.default_rng(5)
    many = np.round(rng.standard_normal((40, 25)), 3).astype("float32")
    few = floats([1, 5], [2, 7])
    for name, options, values in [
        ("", {"num_bins": 4}, many), ("_epsilon", {"num_bins": 7, "epsilon": 0.2}, many),
        ("_one_bin", {"num_bins": 1}, few), ("_more_bins", {"num_bins": 9}, few),
        ("_fine", {"num_bins": 5, "epsilon": 0.001, "output_mode": "one_hot"}, many),
    ]:
        make_it = lambda options=options: make(**options)
        yield case(f"discretization_adapted{name}", make_it, data.reshape(2, 4), adapt=values)
        parts = [values[:1], values[1:15], values[15:]] if len(values) > 2 else list(values)
        yield case(f"discretization_batches{name}", make_it, data, batches=parts)


def category_encoding_cases():
    make = layers.CategoryEncoding
    numbers = np.array([[0, 1, 1], [3, 2, 0]])
    for mode in MODES:
        yield case(f"category_encoding_{mode}", lambda mode=mode: make(4, output_mode=mode),
                   numbers, numbers[0], numbers[:, :1], numbers.astype("int32"), np.array(2))
    yield case("category_encoding", lambda: make(num_tokens=3), np.array([[5, 1], [2, 2]]))
    yield case("category_encoding_dtype", lambda: make(4, "one_hot", dtype="float64"), numbers)
    weights = floats([0.5, 1, 0.25], [2, 3, 4])
    yield case("category_encoding_weights", lambda: make(4, "count"), [numbers, weights],
               [numbers[0], weights[0]], call=lambda layer, x, w: layer(x, count_weights=w))


WORDS = ["", "a", "be", "cat", "word", "eight ch", "sixteen letters.", "seventeen letters",
         "\u00e9t\u00e9", "x" * 32, "y" * 33, "z" * 64, "0123456789" * 7, "abcdefgh" * 16, "q" * 200]
NUMBERS = [0, 1, -1, 9, 10, 99, 123, -123, 1234, 99999, -1234567, 12345678, 10**15 - 1, 10**16,
           -(10**14), -(10**15), -(10**16), 2**62, 2**63 - 1, -(2**63)]


def hashing_cases():
    make = layers.Hashing
    words, numbers = np.array(WORDS), np.array(NUMBERS)
    for name, options in {
        "": {}, "_salt": {"salt": 137}, "_salts": {"salt": [3, 2**40]}, "_int32": {"dtype": "int32"}
    }.items():
        yield case(f"hashing{name}", lambda options=options: make(1000003, **options),
                   words, numbers, numbers.reshape(5, 4), np.array("scalar"))
    yield case("hashing_mask", lambda: make(3, mask_value="a"), words.reshape(3, 5))
    yield case("hashing_mask_number", lambda: make(3, mask_value=-1), numbers)
    yield case("hashing_one_bin_mask", lambda: make(1, mask_value=-1), numbers)
    yield case("hashing_small_dtypes", lambda: make(50), np.array([1, -7, 100], "int8"),
               np.array([1, 7, 200], "uint8"), np.array([1, -70000], "int32"))
    yield case("hashing_floats", lambda: make(5), floats(1.5, -2.5, 1e9))
    for mode in MODES:
        for salt in [None, 5]:
            yield case(f"hashing_{mode}_{salt}",
                       lambda mode=mode, salt=salt: make(4, output_mode=mode, salt=salt),
                       words.reshape(3, 5), numbers[:4, None], numbers[:3])


def hashed_crossing_cases():
    make = layers.HashedCrossing
    words, numbers = np.array(WORDS[:5]), np.array(NUMBERS[1:6])
    for mode in ["int", "one_hot"]:
        yield case(f"hashed_crossing_{mode}", lambda mode=mode: make(7, output_mode=mode),
                   [words, numbers], [numbers, words], [numbers, numbers * 3 - 5],
                   [words[:, None], numbers[:, None]], [numbers[0], words[0]])
    yield case("hashed_crossing_three", lambda: make(1000, dtype="int32"),
               [words, numbers, np.array(WORDS[9:14])], [numbers] * 4)


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def tensor(value):
    value = np.asarray(value)
    if value.dtype.kind not in "OSU":
        return common.tensor(value)
    return {"shape": list(value.shape), "dtype": "string", "data": [text(x) for x in value.ravel()]}


def dataset(batches):
    """One dataset of batches that may differ in size."""
    first = tf.convert_to_tensor(batches[0])
    spec = tf.TensorSpec([None, *first.shape[1:]] if len({len(b) for b in batches}) > 1
                         else first.shape, first.dtype)
    return tf.data.Dataset.from_generator(lambda: iter(batches), output_signature=spec)


def run(spec):
    rng = common.start(spec["name"])
    layer = spec["layer"]()
    before = common.serialize(layer)
    if spec["adapt"] is not None:
        layer.adapt(spec["adapt"])
    if spec["batches"] is not None:
        layer.adapt(dataset(spec["batches"]))
    inputs = [common.normal(rng, x) if isinstance(x, tuple) else x for x in spec["inputs"]]
    calls = []
    for given in inputs:
        several = isinstance(given, list)
        tensors = [tf.constant(x) for x in (given if several else [given])]
        if spec["call"]:
            output = spec["call"](layer, *tensors)
        else:
            output = layer(tensors if several else tensors[0])
        calls.append({"inputs": [tensor(x) for x in (given if several else [given])],
                      "output": tensor(output)})
    result = {
        "name": spec["name"],
        "before": before,
        "adapt": None if spec["adapt"] is None else tensor(spec["adapt"]),
        "batches": None if spec["batches"] is None else [tensor(x) for x in spec["batches"]],
        "object": common.serialize(layer),
        "calls": calls,
        "weights": [common.variable(weight) for weight in layer.weights],
    }
    if hasattr(layer, "get_vocabulary"):
        result["vocabulary"] = [text(x) for x in layer.get_vocabulary()]
        result["tokens"] = [text(x) for x in layer.get_vocabulary(include_special_tokens=False)]
    return result


def make():
    groups = [
        normalization_cases,
        discretization_cases,
        category_encoding_cases,
        hashing_cases,
        hashed_crossing_cases,
    ]
    return [run(spec) for group in groups for spec in group()]
