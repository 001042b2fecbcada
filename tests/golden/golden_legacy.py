# SPDX-License-Identifier: Apache-2.0
"""Whole models in HDF5 files of Keras 3 and Keras 2 (tf_keras): trained for some steps, with their
predictions and the losses of the next steps."""

import contextlib
import datetime
import time
import types
from unittest import mock

import common
import keras
import numpy as np
import tf_keras

FILES = common.DATA / "files"
DATE = datetime.datetime(2026, 1, 1)


def pictures(k):
    model = k.Sequential([
        k.layers.Input((6, 6, 2)),
        k.layers.Conv2D(3, 3, padding="same", activation="relu"),
        k.layers.BatchNormalization(),
        k.layers.MaxPooling2D(),
        k.layers.Flatten(),
        k.layers.Dropout(0.0),
        k.layers.Dense(4, activation="softmax"),
    ])
    model.compile(k.optimizers.Adam(0.01), "sparse_categorical_crossentropy",
                  metrics=["accuracy"])
    return model, [(8, 6, 6, 2)], [np.arange(8, dtype="int32") % 4]


def shared(k):
    a, b = k.Input((5,), name="a"), k.Input((5,), name="b")
    dense = k.layers.Dense(4, activation="tanh", kernel_regularizer=k.regularizers.L2(0.01), name="d")
    x = k.layers.Concatenate(name="c")([dense(a), dense(b)])
    x = k.layers.LayerNormalization(name="n")(x)
    y = k.layers.Dense(2, name="y")(k.layers.Add(name="s")([x, k.layers.LeakyReLU(name="l")(x)]))
    model = k.Model([a, b], [y, k.layers.Dense(1, name="z")(x)])
    model.compile(k.optimizers.SGD(0.05, momentum=0.9), ["mse", "mae"], loss_weights=[1.0, 0.5])
    return model, [(8, 5), (8, 5)], [np.ones((8, 2), "float32"), np.zeros((8, 1), "float32")]


def nested(k):
    inner = k.Sequential([k.layers.Input((3,)), k.layers.Dense(3, "relu"), k.layers.Dense(2)])
    x = k.Input((4, 3))
    y = k.layers.GlobalAveragePooling1D()(k.layers.TimeDistributed(inner)(x))
    model = k.Model(x, k.layers.Dense(1)(y))
    model.compile(k.optimizers.RMSprop(0.01), "mse")
    return model, [(8, 4, 3)], [np.ones((8, 1), "float32")]


def words(k):
    x = k.Input((5,), dtype="int32")
    y = k.layers.Embedding(7, 3, mask_zero=True)(x)
    y = k.layers.Bidirectional(k.layers.LSTM(2, return_sequences=True))(y)
    y = k.layers.GRU(3)(y)
    model = k.Model(x, k.layers.Dense(1, activation="sigmoid")(y))
    model.compile("adam", "binary_crossentropy")
    return model, None, [np.arange(8, dtype="float32")[:, None] % 2]


def models(k):
    """Nested models: one of them is called twice, and one contains another."""
    x = k.Input((3,))
    inner = k.Sequential([k.layers.Input((3,)), k.layers.Dense(4, "tanh"), k.layers.Dense(3)])
    y = k.Input((3,))
    outer = k.Model(y, k.layers.Dense(3, activation="tanh")(inner(y)))
    both = k.layers.Concatenate()([outer(x), outer(outer(x))])
    model = k.Model(x, [k.layers.Dense(1)(both), outer(x)])
    model.compile(k.optimizers.SGD(0.05, momentum=0.9), "mse")
    return model, [(8, 3)], [np.ones((8, 1), "float32"), np.zeros((8, 3), "float32")]


def attention(k):
    x = k.Input((5, 4))
    y = k.layers.MultiHeadAttention(2, 3)(x, x)
    y = k.layers.GlobalAveragePooling1D()(y)
    model = k.Model(x, k.layers.Dense(1)(y))
    model.compile(k.optimizers.Adam(0.01), "mse")
    return model, [(8, 5, 4)], [np.ones((8, 1), "float32")]


def square(k, optimizer, loss="mse"):
    """Weights of the same shape, and an optimizer."""
    model = k.Sequential([k.layers.Input((3,)), k.layers.Dense(3, "tanh", use_bias=False),
                          k.layers.Dense(3, use_bias=False)])
    model.compile(optimizer, loss)
    return model, [(8, 3)], [np.ones((8, 3), "float32")]


def rate_of_schedule(k):
    """Keras 2's SGD has momenta that it doesn't use."""
    return square(k, k.optimizers.SGD(k.optimizers.schedules.ExponentialDecay(0.1, 1, 0.5)),
                  "logcosh")


def scaled_loss(k):
    return square(k, k.mixed_precision.LossScaleOptimizer(k.optimizers.Adam(0.01), initial_scale=8.0,
                                                          dynamic_growth_steps=2))


def old_adam(k):
    return square(k, k.optimizers.legacy.Adam(0.01, amsgrad=True))


def old_adadelta(k):
    return square(k, k.optimizers.legacy.Adadelta(0.5))


def decaying_rate(k):
    return square(k, k.optimizers.legacy.SGD(0.1, momentum=0.9, decay=0.5))


def sequential_end(k):
    """The output is that of a nested sequential model, whose layer is used outside of it as well."""
    x = k.Input((3,))
    dense = k.layers.Dense(3, use_bias=False)
    head = k.Sequential([k.layers.Input((3,)), dense])
    model = k.Model(x, head(head(dense(x))))
    model.compile("sgd", "mse")
    return model, [(8, 3)], [np.ones((8, 3), "float32")]


def slashes(k):
    """Keras 3 doesn't allow such names of layers; for one of them, the nearest name is taken."""
    x = k.Input((3,), name="in/x")
    y = k.layers.Dense(4, "tanh", name="block/a")(x)
    y = k.layers.Add(name="block/sum")([y, k.layers.Dense(4, name="block_a")(x)])
    model = k.Model(x, [k.layers.Dense(2, name="out/p")(y), k.layers.Dense(1, name="out/q")(y)])
    model.compile("sgd", {"out/p": "mse", "out/q": "mae"}, loss_weights={"out/p": 1, "out/q": 0.5})
    return model, [(8, 3)], [np.ones((8, 2), "float32"), np.zeros((8, 1), "float32")]


def operators(k):
    """Ops with the names of layers. Keras 3 doesn't read its own file."""
    x = k.Input((3,))
    y = k.layers.Dense(4)(x)
    y = k.layers.ReLU(6.0)(y + 3.0) * (1.0 / 6.0) * y
    y = k.ops.maximum(k.layers.Add()([y, y]) - y, k.ops.reshape(y * 0.5, (-1, 4)))
    model = k.Model(x, k.layers.Dense(1)(k.ops.concatenate([y, x], axis=1)))
    model.compile("sgd", "mse")
    return model, [(8, 3)], [np.ones((8, 1), "float32")]


OF_KERAS_2 = {"h5": (sequential_end, rate_of_schedule, scaled_loss, old_adam, old_adadelta, decaying_rate, slashes),
              "keras": (rate_of_schedule, scaled_loss, slashes)}
MORE = {"models": models, "attention": attention}
CASES = {"pictures": pictures, "shared": shared, "nested": nested, "words": words}


@contextlib.contextmanager
def reproducible():
    """Fixes the time of writing."""
    fake = types.SimpleNamespace(datetime=types.SimpleNamespace(now=lambda: DATE))
    with (
        mock.patch.object(time, "localtime", lambda *_: DATE.timetuple()),
        mock.patch.object(tf_keras.src.saving.saving_lib, "datetime", fake),
    ):
        yield


def one_or_list(values):
    return values[0] if len(values) == 1 else values


def run(name, make_model, k, version, ending="h5"):
    rng = common.start(f"legacy_{name}_{version}")
    k.utils.set_random_seed(4)
    model, shapes, targets = make_model(k)
    if shapes is None:
        inputs = [rng.integers(0, 7, (8, 5)).astype("int32")]
    else:
        inputs = [common.normal(rng, shape) for shape in shapes]
    x, y = one_or_list(inputs), one_or_list(targets)
    for _ in range(3):
        model.train_on_batch(x, y)
    file = f"legacy_{name}_{version}.{ending}"
    with reproducible():
        model.save(FILES / file)
    outputs = model.predict(x, verbose=0)
    outputs = outputs if isinstance(outputs, list) else [outputs]
    losses = []
    for _ in range(3):
        model.reset_metrics()
        loss = model.train_on_batch(x, y)
        losses.append(np.float32(loss[0] if isinstance(loss, list) else loss))
    return {
        "name": file,
        "file": f"files/{file}",
        "inputs": [common.tensor(v) for v in inputs],
        "targets": [common.tensor(v) for v in targets],
        "outputs": [common.tensor(v) for v in outputs],
        "losses": losses,
    }


def make():
    both = (keras, "keras3"), (tf_keras, "keras2")
    cases = [run(name, make_model, k, version) for name, make_model in CASES.items()
             for k, version in both]
    for name, make_model in MORE.items():
        cases += [run(name, make_model, k, version) for k, version in both]
    for name, make_model in (CASES | MORE).items():
        cases.append(run(name, make_model, tf_keras, "keras2", "keras"))
    for ending, makers in OF_KERAS_2.items():
        cases += [run(make_model.__name__, make_model, tf_keras, "keras2", ending)
                  for make_model in makers]
    cases.append(run("operators", operators, keras, "keras3"))
    return cases
