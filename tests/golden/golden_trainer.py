# SPDX-License-Identifier: Apache-2.0
"""The logs of fit and evaluate: custom steps and trackers, metrics and losses of several outputs.
"""

import common
import keras
import numpy as np
import tensorflow as tf


def data(rng):
    x = common.normal(rng, (10, 3))
    return x, common.normal(rng, (10, 1)), common.normal(rng, (10, 1))


def report(name, model, x, y, val):
    """Uneven batches (4, 4, 2), also in validation (4, 1): returns a history and an evaluation."""
    start = [common.tensor(value) for value in model.get_weights()]
    history = model.fit(
        x, y, batch_size=4, epochs=3, shuffle=False, verbose=0, validation_data=val
    )
    evaluated = model.evaluate(val[0], val[1], batch_size=4, verbose=0, return_dict=True)
    return {
        "name": name,
        "start": start,
        "history": {key: list(map(float, value)) for key, value in history.history.items()},
        "evaluated": {key: float(value) for key, value in evaluated.items()},
    }


class Tracking(keras.layers.Layer):
    """Tracks the mean of its inputs."""

    def __init__(self):
        super().__init__()
        self.passed = keras.metrics.Mean(name="passed")

    def call(self, x):
        self.passed.update_state(x)
        return x


class Plain(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1, name="dense")

    def call(self, x):
        return self.dense(x)


class Compiled(Plain):
    """The first model of the guide "Customizing what happens in fit()"."""

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(y=y, y_pred=y_pred)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply(gradients, self.trainable_variables)
        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss)
            else:
                metric.update_state(y, y_pred)
        return {metric.name: metric.result() for metric in self.metrics}


class Lower(Plain):
    """The second model of the guide, with its own trackers, which `metrics` returns."""

    def __init__(self):
        super().__init__()
        self.loss_tracker = keras.metrics.Mean(name="loss")
        self.mae_metric = keras.metrics.MeanAbsoluteError(name="mae")
        self.count = keras.metrics.Sum(name="count")

    @property
    def metrics(self):
        return [self.loss_tracker, self.mae_metric, self.count]

    def step(self, data, training):
        x, y = data
        with tf.GradientTape() as tape:
            y_pred = self(x, training=training)
            loss = keras.losses.mean_squared_error(y, y_pred)
        if training:
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        self.loss_tracker.update_state(loss)
        self.mae_metric.update_state(y, y_pred)
        self.count.update_state(1)
        return {metric.name: metric.result() for metric in self.metrics}

    def train_step(self, data):
        return self.step(data, True)

    def test_step(self, data):
        return self.step(data, False)


class Tracked(Plain):
    """Trackers without an override of `metrics`, in the model and in a layer within it."""

    def __init__(self):
        super().__init__()
        self.inner = Tracking()
        self.steps = keras.metrics.Sum(name="steps")

    def call(self, x):
        return self.dense(self.inner(x))

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        self.steps.update_state(1)
        return super().compute_metrics(x, y, y_pred, sample_weight)


def own_steps():
    for name, make, arguments in [
        ("compiled_metrics", Compiled, {"loss": "mse", "metrics": ["mae"]}),
        ("own_metrics", Lower, {}),
        ("tracked_metrics", Tracked, {"loss": "mse", "metrics": ["mae"]}),
        # "weighted_mae" comes after "val_mae".
        (
            "weighted_metrics",
            Plain,
            {"loss": "mse", "metrics": ["mae"], "weighted_metrics": ["mae"]},
        ),
    ]:
        rng = common.start(name)
        x, y, _ = data(rng)
        model = make()
        model(x[:1])
        model.set_weights([common.normal(rng, (3, 1)), common.normal(rng, (1,))])
        model.compile(keras.optimizers.SGD(0.05), **arguments)
        case = report(name, model, x, y, (x[:5] + 1, y[:5]))
        yield case | {"x": common.tensor(x), "y": [common.tensor(y)]}


def texts():
    """Models that begin with texts, with and without an Input."""
    words = ["the", "cat", "a", "dog"]
    for name, inputs in [
        ("texts", [keras.Input((1,), dtype="string")]),
        ("texts_without_input", []),
    ]:
        rng = common.start(name)
        rows = [" ".join(rng.choice(words + ["cow"], rng.integers(1, 6))) for _ in range(10)]
        x, y = tf.constant(rows, shape=(10, 1)), common.normal(rng, (10, 1))
        model = keras.Sequential(
            [
                *inputs,
                keras.layers.TextVectorization(vocabulary=words),
                keras.layers.Embedding(6, 3),
                keras.layers.GlobalAveragePooling1D(),
                keras.layers.Dense(1),
            ]
        )
        model(x[:1])
        model.set_weights([common.normal(rng, weight.shape) for weight in model.weights])
        model.compile(keras.optimizers.SGD(0.05), "mse", metrics=["mae"])
        case = report(name, model, x, y, (x[:5], y[:5]))
        yield case | {"x": common.tensor(x), "y": [common.tensor(y)]}


def averages():
    """The weights that callbacks see at the ends of epochs when averages are swapped in."""
    for name, swap_on_epoch in [("averages_in_tests", False), ("averages_on_epochs", True)]:
        rng = common.start(name)
        x, y, _ = data(rng)
        model = Plain()
        model(x[:1])
        model.set_weights([common.normal(rng, (3, 1)), common.normal(rng, (1,))])
        start = [common.tensor(value) for value in model.get_weights()]
        model.compile(keras.optimizers.SGD(0.05, use_ema=True, ema_momentum=0.5), loss="mse")
        seen = []
        history = model.fit(
            x,
            y,
            batch_size=4,
            epochs=3,
            shuffle=False,
            verbose=0,
            validation_data=(x[:5] + 1, y[:5]),
            callbacks=[
                keras.callbacks.SwapEMAWeights(swap_on_epoch),
                keras.callbacks.LambdaCallback(
                    on_epoch_end=lambda epoch, logs, model=model, seen=seen: seen.append(
                        [common.tensor(value) for value in model.get_weights()]
                    )
                ),
            ],
        )
        yield {
            "name": name,
            "swap_on_epoch": swap_on_epoch,
            "x": common.tensor(x),
            "y": common.tensor(y),
            "start": start,
            "history": {key: list(map(float, value)) for key, value in history.history.items()},
            "seen": seen,
            "end": [common.tensor(value) for value in model.get_weights()],
        }


class Two(keras.Model):
    def __init__(self, named):
        super().__init__()
        self.a = keras.layers.Dense(1, name="a")
        self.b = keras.layers.Dense(1, name="b")
        self.named = named

    def call(self, x):
        outputs = [self.a(x), self.b(x)]
        return {"u": outputs[0], "v": outputs[1]} if self.named else outputs


def outputs(kind):
    if kind != "functional":
        return Two(kind == "named")
    x = keras.Input((3,))
    return keras.Model(x, [keras.layers.Dense(1, name=name)(x) for name in ("a", "b")])


# trainer_test.cc has Cornu's versions under the same names.
SEVERAL = [
    ("one_loss", "functional", {"loss": "mse"}),
    ("losses", "functional", {"loss": ["mse", "mae"], "loss_weights": [1.0, 0.5]}),
    ("half_a_loss", "functional", {"loss": ["mse", None]}),
    ("metrics", "functional", {"loss": "mse", "metrics": ["mae", "mse"]}),
    ("metric_lists", "functional", {"loss": "mse", "metrics": [["mae", "mse"], []]}),
    ("metrics_by_name", "functional", {"loss": "mse", "metrics": {"b": ["mae"]}}),
    (
        "weighted",
        "functional",
        {"loss": "mse", "metrics": ["mae", "mae"], "weighted_metrics": ["mae", ["mae", "mae"]]},
    ),
    ("plain_list", "list", {"loss": ["mse", "mae"], "metrics": ["mae", "mae"]}),
    ("named_outputs", "named", {"loss": {"u": "mse", "v": "mae"}, "metrics": {"u": ["mae"]}}),
]


def several_outputs():
    for name, kind, arguments in SEVERAL:
        rng = common.start(name)
        x, a, b = data(rng)
        model = outputs(kind)
        model(x[:1])
        model.set_weights([common.normal(rng, shape) for shape in [(3, 1), (1,)] * 2])
        model.compile(keras.optimizers.SGD(0.05), **arguments)
        y = {"u": a, "v": b} if kind == "named" else [a, b]
        val = {"u": a[:5], "v": b[:5]} if kind == "named" else [a[:5], b[:5]]
        case = report(name, model, x, y, (x[:5] + 1, val))
        yield case | {"x": common.tensor(x), "y": [common.tensor(a), common.tensor(b)]}


def listed_outputs():
    """A model whose outputs are a dictionary, with lists of losses and metrics: Keras matches them
    with the sorted keys."""
    rng = common.start("listed_outputs")
    x, a, b = data(rng)
    inputs = keras.Input((3,), name="x")
    dense = keras.layers.Dense
    model = keras.Model(inputs, {"v": dense(1, name="b")(inputs), "u": dense(1, name="a")(inputs)})
    model.set_weights([common.normal(rng, weight.shape) for weight in model.weights])
    model.compile(
        keras.optimizers.SGD(0.05),
        loss=["mse", "mae"],
        loss_weights=[1.0, 0.5],
        metrics=[["mape"], []],
        weighted_metrics=["mae", "mse"],
    )
    y, val = {"u": a, "v": b}, {"u": a[:5], "v": b[:5]}
    case = report("listed_outputs", model, x, y, (x[:5] + 1, val))
    case |= {"x": common.tensor(x), "y": [common.tensor(a), common.tensor(b)]}
    return case | {"model": model.to_json()}


def pipeline(kind, x):
    """Batches of two, repeated a number of times, or with unknown cardinality."""
    batches = tf.data.Dataset.from_tensor_slices((x, x)).batch(2)
    if kind == "unknown":
        return batches.filter(lambda a, b: True)
    return batches.repeat({"dataset": 1, "twice": 2, "endless": -1}[kind])


def batches_seen(name, rows, epochs, steps, kind="arrays"):
    """The first sample of each batch, to see which ones steps_per_epoch and validation_steps take.

    Not covered: an epoch that starts when a pipeline of unknown length is at its end. Keras takes
    no step then; Cornu restarts the pipeline, as both do when the length is known.
    """
    common.start(name)
    seen = []

    class First(keras.Model):
        def train_step(self, data):
            return {"first": data[0][0, 0]}

        test_step = train_step

    class Keep(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            seen.append(float(logs["first"]))

        def on_test_batch_end(self, batch, logs=None):
            seen.append(-float(logs["first"]))

    model = First()
    model.compile()
    x = np.arange(1, rows + 1, dtype="float32")[:, None]
    fitted = {"epochs": epochs, "steps_per_epoch": steps, "validation_steps": 2}
    fitted |= {"callbacks": [Keep()], "verbose": 0}
    if kind == "arrays":
        validated = {"validation_data": (x, x), "validation_batch_size": 2}
        model.fit(x, x, batch_size=2, shuffle=False, **fitted, **validated)
    elif kind == "divided":  # by the numbers of steps
        model.fit(x, x, shuffle=False, validation_data=(x, x), **fitted)
        model.evaluate(x, x, steps=3, callbacks=[Keep()], verbose=0)
    else:
        model.fit(pipeline(kind, x), validation_data=pipeline(kind, x), **fitted)
    case = {"name": name, "rows": rows, "epochs": epochs, "steps": steps, "seen": seen}
    return case if kind == "arrays" else case | {"kind": kind}


def make():
    return [
        *own_steps(),
        *texts(),
        *several_outputs(),
        listed_outputs(),
        *averages(),
        batches_seen("steps_even", 8, 3, 2),
        batches_seen("steps_uneven", 10, 4, 2),
        batches_seen("steps_too_many", 8, 2, 6),
        batches_seen("steps_even_dataset", 8, 3, 2, "dataset"),
        batches_seen("steps_uneven_dataset", 10, 4, 2, "dataset"),
        batches_seen("steps_even_twice", 6, 4, 3, "twice"),
        batches_seen("steps_uneven_twice", 6, 4, 4, "twice"),
        batches_seen("steps_endless", 6, 3, 2, "endless"),
        batches_seen("steps_uneven_unknown", 10, 4, 2, "unknown"),
        batches_seen("steps_divide", 10, 2, 4, "divided"),
        batches_seen("steps_divide_many", 100, 2, 2, "divided"),
    ]
