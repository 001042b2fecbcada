# SPDX-License-Identifier: Apache-2.0
"""Model files written by real Keras, each with an input and the expected output."""

import contextlib
import datetime
import io
import time
import types
import zipfile
from unittest import mock

import common
import h5py
import keras
import numpy as np
import tensorflow as tf
from keras import layers
from keras.src.saving import saving_lib, serialization_lib

FILES = common.DATA / "files"
DATE = datetime.datetime(2026, 1, 1)


@contextlib.contextmanager
def reproducible():
    """Fixes what differs between runs: the time of writing, and the ids of shared objects."""
    known = []

    def number(obj):
        known.extend([obj] if all(obj is not other for other in known) else [])
        return 1 + next(i for i, other in enumerate(known) if other is obj)

    fake = types.SimpleNamespace(datetime=types.SimpleNamespace(now=lambda: DATE))
    with (
        mock.patch.object(time, "localtime", lambda *_: DATE.timetuple()),
        mock.patch.object(saving_lib, "datetime", fake),
        mock.patch.object(serialization_lib, "id", number, create=True),
    ):
        yield


def randomize(rng, model):
    for weight in model.weights:
        if "variance" in weight.name:
            weight.assign(common.uniform(rng, weight.shape, 0.5, 1.5))
        else:
            weight.assign(common.normal(rng, weight.shape, 0.5))


def sequential(rng):
    """Compiled and trained for one step: optimizer variables, and the seeds of Dropout."""
    model = keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(5, activation="relu", kernel_regularizer="l2"),
            layers.Dropout(0.25, seed=7),
            layers.Dense(3, activation="softmax"),
            layers.Dropout(0.0),
        ]
    )
    randomize(rng, model)
    model.compile(
        keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    model.fit(common.normal(rng, (4, 4)), np.array([0, 1, 2, 1]), verbose=0)
    return model, [common.normal(rng, (3, 4))]


def functional(rng):
    """Two inputs, a shared layer, operators."""
    left, right = keras.Input((3,), name="left"), keras.Input((3,), name="right")
    shared = layers.Dense(4, activation="tanh", name="shared")
    x, y = shared(left), shared(right)
    merged = layers.Concatenate()([x + y, x * 2.0 - y / 4.0, keras.ops.relu(1.0 - x)])
    model = keras.Model([left, right], layers.Dense(2)(merged), name="two_inputs")
    randomize(rng, model)
    return model, [common.normal(rng, (3, 3)) for _ in range(2)]


def bn_cnn(rng):
    model = keras.Sequential(
        [
            keras.Input((8, 8, 2)),
            layers.Conv2D(4, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.Activation("relu"),
            layers.MaxPooling2D(),
            layers.DepthwiseConv2D(3, padding="same"),
            layers.BatchNormalization(),
            layers.ReLU(6.0),
            layers.GlobalAveragePooling2D(),
            layers.Dense(3, activation="softmax"),
        ],
        name="bn_cnn",
    )
    randomize(rng, model)
    return model, [common.normal(rng, (2, 8, 8, 2))]


def nested(rng):
    """A nested model, two outputs, a layer with several inputs, a frozen layer."""
    encoder = keras.Sequential(
        [keras.Input((4,)), layers.Dense(3, activation="relu"), layers.LayerNormalization()],
        name="encoder",
    )
    first, second = keras.Input((4,), name="first"), keras.Input((4,), name="second")
    merged = layers.Add()([encoder(first), encoder(second)])
    frozen = layers.Dense(2, trainable=False, name="frozen")(merged)
    model = keras.Model([first, second], [frozen, merged], name="nested")
    randomize(rng, model)
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), ["mse", "mae"], loss_weights=[1.0, 0.5])
    x = [common.normal(rng, (4, 4)) for _ in range(2)]
    model.fit(x, [common.normal(rng, (4, 2)), common.normal(rng, (4, 3))], verbose=0)
    return model, x


def layer_activations(rng):
    """Layers as activations of other layers."""
    x = keras.Input((5, 3), name="x")
    y = layers.Conv1D(4, 2, activation=layers.LeakyReLU(negative_slope=0.3))(x)
    y = layers.Dense(4, activation=layers.ReLU(max_value=1.0, negative_slope=0.1, name="cut"))(y)
    y = layers.Activation(layers.ELU(alpha=0.5))(y)
    y = layers.Dense(3, activation=layers.Softmax(axis=1))(y)
    model = keras.Model(x, y, name="layer_activations")
    randomize(rng, model)
    return model, [common.normal(rng, (4, 5, 3))]


def nested_ends(rng):
    """Inputs and outputs in custom lists and dictionaries."""
    a, b, c = (keras.Input((3,), name=name) for name in "abc")
    outputs = {
        "first": layers.Dense(2)(a),
        "others": {"p": layers.Dense(3)(b), "q": [layers.Dense(4)(c)]},
    }
    model = keras.Model([[a], [b, [c]]], outputs, name="nested_ends")
    randomize(rng, model)
    return model, [common.normal(rng, (4, 3)) for _ in range(3)]


def mask_of_embedding(rng):
    """A mask that Keras passes to a layer's call: a separate op in the graph."""
    words = keras.Input((5,), dtype="int32", name="words")
    x = layers.Embedding(7, 3, mask_zero=True)(words)
    x = layers.Dense(4, activation="relu")(x)
    pooled = layers.GlobalAveragePooling1D()(x)
    model = keras.Model(words, layers.Dense(2)(pooled), name="mask_of_embedding")
    randomize(rng, model)
    values = rng.integers(0, 7, (4, 5)).astype("int32")
    values[0, 2:] = 0
    return model, [values]


def mask_of_masking(rng):
    """Masking, pooling, a nested model that gets a mask for one of its two inputs, an explicit
    mask."""
    a, b = keras.Input((3, 2), name="a"), keras.Input((3, 2), name="b")
    left, right = keras.Input((3, 2)), keras.Input((3, 2))
    inner = keras.Model([left, right], layers.Add()([left, right]), name="inner")
    masked = layers.Masking()(a)
    both = inner([masked, b])
    first = layers.GlobalAveragePooling1D()(layers.Dense(2)(masked))
    keep = keras.ops.greater(keras.ops.sum(b, -1), 0.0)
    second = layers.GlobalAveragePooling1D()(both, mask=keep)
    normalized = layers.BatchNormalization()(masked)
    model = keras.Model([a, b], [first, second, normalized], name="mask_of_masking")
    randomize(rng, model)
    x = [common.normal(rng, (4, 3, 2)) for _ in range(2)]
    x[0][:, 1] = 0
    x[1][:, 0] = np.abs(x[1][:, 0])
    return model, x


def recurrent(rng):
    """Initial states by name and by position, masks, wrappers, a cell alone."""
    words = keras.Input((5,), dtype="int32", name="words")
    start = keras.Input((3, 4), name="start")
    x = layers.Embedding(7, 3, mask_zero=True)(words)
    read, h, c = layers.LSTM(4, return_state=True)(x)
    written = layers.LSTM(4, return_sequences=True)(start, initial_state=[h, c])
    again = layers.GRU(4, reset_after=False)(start, h)
    both = layers.Bidirectional(layers.GRU(3, return_sequences=True, return_state=True))(x)
    each = layers.TimeDistributed(layers.Dense(2))(written)
    plain = layers.SimpleRNN(2, go_backwards=True)(both[0], mask=keras.ops.greater(words, 2))
    stacked = layers.RNN([layers.LSTMCell(3), layers.GRUCell(2)])(x)
    outputs = [read, each, again, plain, stacked, *both[1:]]
    model = keras.Model([words, start], outputs, name="recurrent")
    randomize(rng, model)
    values = rng.integers(0, 7, (4, 5)).astype("int32")
    values[0, 2:] = 0
    return model, [values, common.normal(rng, (4, 3, 4))]


def both_ways(rng):
    """Tokens to vectors and back with the same layer, equations, wrappers, adaptive pooling."""
    words = keras.Input((5,), dtype="int32", name="words")
    picture = keras.Input((4, 5, 3), name="picture")
    embedding = layers.ReversibleEmbedding(7, 4, mask_zero=True, logit_soft_cap=3.0)
    x = layers.RMSNormalization()(embedding(words))
    x = layers.EinsumDense("abc,cde->abde", (5, 2, 2), bias_axes="de")(x)
    x = layers.EinsumDense("abcd,cde->abe", (5, 4), activation="tanh")(x)
    logits = embedding(x, reverse=True)
    y = layers.SpectralNormalization(layers.Conv2D(3, 2), power_iterations=2)(picture)
    y = layers.Reshape((3, 2, 2, 3))(layers.AdaptiveAveragePooling2D((3, 4))(y))
    z = layers.Conv3DTranspose(2, 2)(y)
    outputs = [logits, layers.AdaptiveMaxPooling3D(2)(z)]
    model = keras.Model([words, picture], outputs, name="both_ways")
    randomize(rng, model)
    values = rng.integers(0, 7, (3, 5)).astype("int32")
    return model, [values, common.normal(rng, (3, 4, 5, 3))]


def dense(rng):
    model = keras.Sequential([keras.Input((4,)), layers.Dense(5, "relu"), layers.Dense(3)])
    randomize(rng, model)
    return model, [common.normal(rng, (3, 4))]


def dense_compiled(rng):
    model, x = dense(rng)
    model.compile("adam", "mse")
    model.fit(x[0], common.normal(rng, (3, 3)), verbose=0)
    return model, x


def categories(rng):
    """What layers have learned: variables, boundaries in the config, vocabularies in assets."""
    numbers, ids = keras.Input((3,), name="numbers"), keras.Input((2,), dtype="int64", name="ids")
    normalization, bins = layers.Normalization(), layers.Discretization(num_bins=3)
    lookup, weighed = layers.IntegerLookup(), layers.IntegerLookup(output_mode="tf_idf")
    data = common.normal(rng, (20, 3))
    counted = np.array([[7, 3], [7, -2], [3, 100], [7, 0]])
    normalization.adapt(data)
    bins.adapt(data)
    lookup.adapt(counted)
    weighed.adapt(counted)
    given = layers.IntegerLookup(vocabulary=[3, 7], output_mode="count", num_oov_indices=2)
    outputs = [
        normalization(numbers),
        bins(numbers),
        layers.Embedding(6, 2)(lookup(ids)),
        weighed(ids),
        given(ids),
        layers.CategoryEncoding(9, output_mode="multi_hot")(lookup(ids)),
        layers.Hashing(5, salt=3)(ids),
        layers.HashedCrossing(7)([ids[:, :1], ids[:, 1:]]),
    ]
    model = keras.Model([numbers, ids], outputs, name="categories")
    return model, [common.normal(rng, (4, 3)), np.array([[7, 3], [1, 0], [-2, 100], [3, 3]])]


def texts(rng):
    counts = layers.TextVectorization(output_mode="tf_idf", ngrams=2)
    indices = layers.TextVectorization(max_tokens=4, output_sequence_length=3)
    for layer in counts, indices:
        layer.adapt(np.array(["A cat!", "the cat, the dog", "caf\u00e9"]))
    inputs = keras.Input((1,), dtype="string")
    model = keras.Model(inputs, [counts(inputs), indices(inputs)])
    return model, [np.array([["the cat"], [""], ["a dog. caf\u00e9 ?"]], dtype=object)]


def words(rng):
    lookup = layers.StringLookup(output_mode="tf_idf", num_oov_indices=2)
    lookup.adapt(np.array([["a", "b\u00e9"], ["c", "a"], ["d", "b\u00e9"]]))
    model = keras.Sequential([keras.Input((2,), dtype="string"), lookup, layers.Dense(2)])
    for weight in model.layers[-1].weights:
        weight.assign(common.normal(rng, weight.shape, 0.5))
    return model, [np.array([["a", "b\u00e9"], ["x", "c"], ["", "y"]], dtype=object)]


def distiller(rng):
    """Losses by name and by class, and feature layers that are compared."""
    teacher, student = (
        keras.Sequential(
            [
                keras.Input((4,)),
                layers.Dense(units, activation="tanh", name=f"{name}_hidden"),
                layers.Dense(3, name=f"{name}_scores"),
            ],
            name=name,
        )
        for name, units in (("teacher", 5), ("student", 5))
    )
    model = keras.distillation.Distiller(
        teacher,
        student,
        [
            keras.distillation.LogitsDistillation(2.0, keras.losses.KLDivergence()),
            keras.distillation.FeatureDistillation("mse", "teacher_hidden", "student_hidden"),
        ],
        [1.0, 0.5],
        student_loss_weight=0.25,
    )
    model.compile("adam", "mse", metrics=["mae"])
    x = common.normal(rng, (4, 4))
    model.fit(x, common.normal(rng, (4, 3)), verbose=0)
    return model, [x]


CASES = {
    "sequential.keras": sequential,
    "functional.keras": functional,
    "bn_cnn.keras": bn_cnn,
    "nested.keras": nested,
    "layer_activations.keras": layer_activations,
    "nested_ends.keras": nested_ends,
    "mask_of_embedding.keras": mask_of_embedding,
    "mask_of_masking.keras": mask_of_masking,
    "categories.keras": categories,
    "texts.keras": texts,
    "words.keras": words,
    "recurrent.keras": recurrent,
    "both_ways.keras": both_ways,
    "distiller.keras": distiller,
    "dense.weights.h5": dense,
    "dense_compiled.weights.h5": dense_compiled,
    "dense_legacy.h5": dense,  # a whole model in the format of Keras 2
}


def attributes(item):
    return {key: value.tolist() if hasattr(value, "tolist") else value
            for key, value in item.attrs.items()}


def h5_listing(file):
    """Returns all groups and datasets, sorted by name."""
    result = [{"path": "/", "attributes": attributes(file)}]

    def visit(path, item):
        entry = {"path": "/" + path, "attributes": attributes(item)}
        if isinstance(item, h5py.Dataset):
            entry |= common.tensor(item[()])
        result.append(entry)

    file.visititems(visit)
    return result


def archive(path):
    with zipfile.ZipFile(path) as file:
        entries = [
            {"name": i.filename, "size": i.file_size, "compression": i.compress_type}
            for i in file.infolist()
        ]
        weights = file.read("model.weights.h5")
        texts = {name: file.read(f"{name}.json").decode() for name in ("config", "metadata")}
    return {"entries": entries} | texts, weights


def predict(model, x):
    if x[0].dtype == object:  # text, which predict doesn't accept as an array
        x = [tf.constant(item) for item in x]
    outputs = model.predict(x if len(x) > 1 else x[0], verbose=0)
    return keras.tree.flatten(outputs)


def run(name, make_model):
    rng = common.start(name)
    model, x = make_model(rng)
    path = FILES / name
    path.parent.mkdir(parents=True, exist_ok=True)
    result = {"name": name, "json": model.to_json()}
    with reproducible():
        model.save_weights(path) if name.endswith(".weights.h5") else model.save(path)
    if name.endswith(".keras"):
        contents, weights = archive(path)
        result |= contents
    else:
        weights = path.read_bytes()
    with h5py.File(io.BytesIO(weights)) as file:
        result["h5"] = h5_listing(file)
    outputs = predict(model, x)
    result |= {
        "variables": [common.variable(v) for v in model.variables],
        "inputs": [common.tensor(t) for t in x],
        "outputs": [common.tensor(t) for t in outputs],
    }
    if model.compiled:
        result["optimizer_variables"] = [common.variable(v) for v in model.optimizer.variables]
    if name.endswith(".keras"):
        reloaded = keras.models.load_model(path)
        again = predict(reloaded, x)
        assert all(np.array_equal(a, b) for a, b in zip(again, outputs))
    assert path.stat().st_size < 100 * 1024
    common.write_group(name, [result], FILES / f"{name}.json")
    return {"name": name, "file": f"files/{name}", "description": f"files/{name}.json"}


def make():
    return [run(name, make_model) for name, make_model in CASES.items()]
