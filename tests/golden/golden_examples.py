# SPDX-License-Identifier: Apache-2.0
"""Batches of serialized SequenceExamples, with TensorFlow's parsing results."""

import common
import numpy as np
import tensorflow as tf

CONTEXT = {
    "id": tf.io.FixedLenFeature([], tf.int64),
    "words": tf.io.VarLenFeature(tf.string),
}
LISTS = {
    "frames": tf.io.FixedLenSequenceFeature([2], tf.float32, allow_missing=True),
    "tags": tf.io.VarLenFeature(tf.string),
    "counts": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
}


def feature(values):
    if values and isinstance(values[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if values and isinstance(values[0], int):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def texts(rng, most):
    return [b"w%d" % number for number in rng.integers(0, 99, rng.integers(0, most + 1))]


def example(rng, names):
    """Returns an example with some of the lists, of different lengths."""
    steps = {
        "frames": lambda: common.normal(rng, 2).tolist(),
        "tags": lambda: texts(rng, 3) or [b""],
        "counts": lambda: [int(rng.integers(-50, 50))],
    }
    lists = {
        name: tf.train.FeatureList(
            feature=[feature(steps[name]()) for _ in range(rng.integers(0, 5))]
        )
        for name in names
    }
    context = {"id": feature([int(rng.integers(0, 1000))])}
    words = texts(rng, 3)
    if words:
        context["words"] = feature(words)
    return tf.train.SequenceExample(
        context=tf.train.Features(feature=context),
        feature_lists=tf.train.FeatureLists(feature_list=lists),
    ).SerializeToString(deterministic=True)


def dense(value):
    if isinstance(value, tf.SparseTensor):
        value = tf.sparse.to_dense(value)
    return common.tensor(value.numpy())


def case(name, choices):
    rng = common.start(name)
    examples = [example(rng, names) for names in choices]
    context, lists, lengths = tf.io.parse_sequence_example(examples, CONTEXT, LISTS)
    return {
        "name": name,
        "hex": [bytes_.hex() for bytes_ in examples],
        "context": {key: dense(value) for key, value in context.items()},
        "lists": {key: dense(value) for key, value in lists.items()},
        "lengths": {key: common.tensor(np.int64(value)) for key, value in lengths.items()},
    }


def make():
    everything = list(LISTS)
    return [
        case("one", [everything]),
        case("several", [everything] * 4),
        case("some lack lists", [everything, ["frames"], [], ["tags", "counts"], everything]),
        case("none has lists", [[], []]),
    ]
