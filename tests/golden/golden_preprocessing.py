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
        output = layer([tf.constant(x) for x in given] if several else tf.constant(given))
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
    groups = [normalization_cases]
    return [run(spec) for group in groups for spec in group()]
