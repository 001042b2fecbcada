# SPDX-License-Identifier: Apache-2.0
"""Layers that take dictionaries: FeatureSpace, with what it adapts to, and MaxNumBoundingBoxes.

Keys of nested dictionaries are joined by '/'.
"""

import common
import numpy as np
import tensorflow as tf
from keras import layers
from keras.utils import FeatureSpace

ROWS = 70
WORDS = ["red", "green", "blue", "", "red", "sea green", "\u00e9t\u00e9"]


def table(rng, rows=ROWS):
    return {
        "age": common.normal(rng, rows, 10.0),
        "city": np.array([WORDS[i] for i in rng.integers(0, len(WORDS), rows)]),
        "visits": rng.integers(-3, 9, rows).astype("int32"),
        "price": common.normal(rng, rows, 3.0),
    }


def types(*names, columns=("age", "city", "visits", "price")):
    return dict(zip(columns, names))


def space_cases():
    floats = ["float_normalized", "float_discretized", "float_rescaled", "float"]
    for number, kind in enumerate(floats):
        words = ["string_categorical", "string_hashed"][number % 2]
        integers = ["integer_hashed", "integer_categorical"][number % 2]
        yield f"space_{kind}", lambda k=kind, w=words, i=integers: FeatureSpace(
            types(k, w, i, "float"), hashing_dim=7, num_discretization_bins=5), {}
    yield "space_dict", lambda: FeatureSpace(
        types("float_normalized", "string_categorical", "integer_categorical", "float_discretized"),
        output_mode="dict"), {}
    yield "space_crosses", lambda: FeatureSpace(
        types("float_normalized", "string_categorical", "integer_categorical", "float"),
        crosses=[("city", "visits"), FeatureSpace.cross(("visits", "city"), crossing_dim=5)],
        crossing_dim=11), {}
    yield "space_integers", lambda: FeatureSpace(
        {"age": FeatureSpace.float_discretized(4, output_mode="int"),
         "city": FeatureSpace.string_categorical(output_mode="int"),
         "visits": FeatureSpace.integer_hashed(6, output_mode="int")},
        crosses=[FeatureSpace.cross(("city", "visits"), 9, output_mode="int"),
                 FeatureSpace.cross(("age", "city"), 8)],
        output_mode="dict"), {}
    yield "space_makers", lambda: FeatureSpace(
        {"age": FeatureSpace.float_rescaled(scale=0.1, offset=-1.0),
         "city": FeatureSpace.string_categorical(max_tokens=4, num_oov_indices=2),
         "visits": FeatureSpace.integer_categorical(max_tokens=6),
         "price": FeatureSpace.float_discretized(6, name="bins")}), {}
    yield "space_batches", lambda: FeatureSpace(
        types("float_normalized", "string_categorical", "integer_categorical",
              "float_discretized")), {"batch": 9}
    yield "space_columns", lambda: FeatureSpace(
        types("float_discretized", "string_categorical", "integer_categorical",
              "float_normalized")), {"columns": True}
    yield "space_own_layers", lambda: FeatureSpace(
        {"city": FeatureSpace.feature("string", layers.TextVectorization(output_mode="tf_idf"),
                                      "float"),
         "visits": FeatureSpace.feature("int32", layers.Hashing(3), "one_hot"),
         "age": FeatureSpace.feature("float32", layers.Rescaling(2.0), "float")},
        output_mode="dict"), {}
    yield "space_hashed_alone", lambda: FeatureSpace(
        {"city": FeatureSpace.string_hashed(4), "visits": "float_rescaled"},
        hashing_dim=3), {"adapt": False}


def encoded(output):
    if isinstance(output, dict):
        return {key: common.tensor(value) for key, value in output.items()}
    return common.tensor(output)


def run_space(name, make, options):
    rng = common.start(name)
    space = make()
    columns = list(space.features)
    data = {key: value for key, value in table(rng).items() if key in columns}
    object = common.serialize(space)
    if options.get("columns"):
        space.adapt({key: value for key, value in data.items()})
    elif options.get("adapt", True):
        rows = tf.data.Dataset.from_tensor_slices(data)
        space.adapt(rows.batch(options["batch"]) if "batch" in options else rows)
    fresh = {key: value for key, value in table(rng, 5).items() if key in columns}
    if "city" in fresh:
        fresh["city"][0] = "never seen"
    calls = []
    for inputs in [fresh, {key: value[:, None] for key, value in fresh.items()},
                   {key: value[1] for key, value in fresh.items()}]:
        given = {key: tf.constant(value) for key, value in inputs.items()}
        calls.append({"inputs": {key: common.tensor(value) for key, value in inputs.items()},
                      "output": encoded(space(given))})
    return {"name": name, "object": object,
            "adapt": {key: common.tensor(value) for key, value in data.items()}
            if options.get("adapt", True) else None,
            "batch": options.get("batch"), "columns": options.get("columns", False),
            "calls": calls}


def flat(value, path=""):
    if not isinstance(value, dict):
        return {path: common.tensor(value)}
    result = {}
    for key, item in value.items():
        result |= flat(item, f"{path}/{key}" if path else key)
    return result


def box_cases():
    for number, batch in [(2, None), (5, None), (2, 3), (4, 3), (3, 2)]:
        yield f"boxes_{number}_{batch or 'one'}", lambda number=number: layers.MaxNumBoundingBoxes(
            number, bounding_box_format="xyxy"), batch
    yield "boxes_filled", lambda: layers.MaxNumBoundingBoxes(5, fill_value=7,
                                                             bounding_box_format="xywh"), 2


def run_boxes(name, make, batch):
    rng = common.start(name)
    layer = make()
    front = (batch,) if batch else ()
    data = {"images": common.uniform(rng, (*front, 4, 5, 3)),
            "bounding_boxes": {"boxes": common.uniform(rng, (*front, 3, 4), 0, 5),
                               "labels": rng.integers(0, 9, (*front, 3)).astype("float32")},
            "labels": common.uniform(rng, (*front, 2))}
    given = flat(data)
    output = layer({key: value.copy() for key, value in data.items()})
    object = common.serialize(layer)
    if layer.fill_value != -1:  # which Keras omits
        object["config"]["fill_value"] = layer.fill_value
    return {"name": name, "object": object, "adapt": None, "batch": None,
            "columns": False, "calls": [{"inputs": given, "output": flat(output)}]}


def make():
    return ([run_space(*case) for case in space_cases()]
            + [run_boxes(*case) for case in box_cases()])
