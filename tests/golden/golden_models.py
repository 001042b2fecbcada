# SPDX-License-Identifier: Apache-2.0
"""Whole models: compile, fit, evaluate, predict, summary."""

import os

import common
import keras
import numpy as np
from keras import layers, optimizers, regularizers


KEYS = ["x", "y", "sample_weight", "val_x", "val_y", "val_sample_weight"]


def dense_model(activation="softmax", units=3, regularize=True):
    regularizer = regularizers.L2(0.01) if regularize else None
    return keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(8, activation="relu", kernel_regularizer=regularizer),
            layers.Dense(units, activation=activation),
        ]
    )


def classes(rng, samples, count=3):
    x = common.normal(rng, (samples, 4))
    return x, rng.integers(0, count, samples).astype("int32")


def dense_case(rng, fit=None, model=None, data=classes, validation=6, **compile_arguments):
    arguments = {
        "optimizer": optimizers.SGD(0.1),
        "loss": "sparse_categorical_crossentropy",
        "metrics": ["accuracy"],
    } | compile_arguments
    x, y = data(rng, 22)
    result = {
        "model": model or dense_model(),
        "compile": arguments,
        "x": [x],
        "y": [y],
        "fit": {"batch_size": 8, "epochs": 2} | (fit or {}),
    }
    if validation:
        val_x, val_y = data(rng, validation)
        result |= {"val_x": [val_x], "val_y": [val_y]}
    return result


def dense_sgd(rng):
    return dense_case(rng)


def dense_class_weight(rng):
    return dense_case(rng, {"class_weight": {0: 0.5, 1: 1.0, 2: 3.0}})


def dense_sample_weight(rng):
    result = dense_case(rng, weighted_metrics=["accuracy"])
    result["sample_weight"] = [common.uniform(rng, (22,), 0.2, 2.0)]
    result["val_sample_weight"] = [common.uniform(rng, (6,), 0.2, 2.0)]
    return result


def dense_logits_momentum(rng):
    return dense_case(
        rng,
        model=dense_model(None, regularize=False),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=optimizers.SGD(0.1, momentum=0.9, nesterov=True),
        metrics=["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(k=2, name="top_2")],
    )


def dense_validation_split(rng):
    return dense_case(rng, {"validation_split": 0.25, "validation_batch_size": 4}, validation=0)


def dense_validation_freq(rng):
    return dense_case(rng, {"validation_freq": 2, "epochs": 3})


def dense_default_batch_size(rng):
    return dense_case(rng, {"batch_size": None, "epochs": 3}, validation=0)


def dense_initial_epoch(rng):
    return dense_case(rng, {"initial_epoch": 2, "epochs": 4}, validation=0)


def dense_steps_per_epoch(rng):
    return dense_case(rng, {"steps_per_epoch": 2, "epochs": 3}, validation=0)


def dense_ema(rng):
    optimizer = optimizers.Adam(0.05, use_ema=True, ema_momentum=0.8)
    return dense_case(rng, optimizer=optimizer)


def dense_accumulation(rng):
    optimizer = optimizers.Adam(0.05, gradient_accumulation_steps=2)
    return dense_case(rng, optimizer=optimizer)


def dense_constraint(rng):
    model = keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(6, "tanh", kernel_constraint=keras.constraints.MaxNorm(0.7)),
            layers.Dense(3, "softmax", bias_constraint="non_neg", activity_regularizer="l2"),
        ]
    )
    return dense_case(rng, model=model)


def binary(rng):
    def data(rng, samples):
        x, y = classes(rng, samples, 2)
        return x, y.astype("float32")

    return dense_case(
        rng,
        model=dense_model("sigmoid", 1),
        data=data,
        loss="binary_crossentropy",
        optimizer="rmsprop",
        metrics=["accuracy", "auc", "precision"],
    )


def one_hot(rng):
    def data(rng, samples):
        x, y = classes(rng, samples)
        return x, np.eye(3, dtype="float32")[y]

    return dense_case(
        rng,
        data=data,
        loss=keras.losses.CategoricalCrossentropy(label_smoothing=0.1),
        optimizer=optimizers.AdamW(0.02),
        metrics=["acc", "categorical_crossentropy"],
    )


def regression(rng):
    def data(rng, samples):
        x, _ = classes(rng, samples)
        return x, (x @ np.float32([1, -1, 0.5, 2]) + 0.5).astype("float32")

    return dense_case(
        rng,
        model=dense_model(None, 1),
        data=data,
        loss="mse",
        metrics=["mae", keras.metrics.RootMeanSquaredError(), "mae"],
    )


def schedule(rng):
    rate = optimizers.schedules.CosineDecay(0.01, 6, warmup_target=0.2, warmup_steps=2)
    return dense_case(rng, optimizer=optimizers.SGD(rate, momentum=0.5))


def cnn(rng):
    model = keras.Sequential(
        [
            keras.Input((6, 6, 1)),
            layers.Rescaling(0.5),
            layers.Conv2D(3, 3, padding="same", use_bias=False),
            layers.BatchNormalization(momentum=0.9),
            layers.ReLU(),
            layers.MaxPooling2D(),
            layers.Conv2D(4, 2, activation="relu"),
            layers.Dropout(0.0),
            layers.Flatten(),
            layers.Dense(3, activation="softmax"),
        ],
        name="cnn",
    )

    def data(rng, samples):
        return common.normal(rng, (samples, 6, 6, 1)), rng.integers(0, 3, samples).astype("int32")

    return dense_case(rng, model=model, data=data, optimizer=optimizers.Adam(0.01))


def functional(rng):
    left = keras.Input((3,), name="left")
    right = keras.Input((3,), name="right")
    shared = layers.Dense(4, activation="tanh", name="shared")
    merged = layers.Concatenate()([shared(left), shared(right)])
    hidden = layers.Dense(5, activation="relu")(merged)
    label = layers.Dense(3, activation="softmax", name="label")(hidden)
    score = layers.Dense(1, name="score")(layers.Add()([shared(left), shared(right)]))
    model = keras.Model([left, right], [label, score], name="two_heads")
    samples = 14
    total = samples + 6
    x = [common.normal(rng, (total, 3)) for _ in range(2)]
    y = [rng.integers(0, 3, total).astype("int32"), common.normal(rng, (total, 1))]
    return {
        "model": model,
        "compile": {
            "optimizer": optimizers.Adam(0.02),
            "loss": ["sparse_categorical_crossentropy", "mse"],
            "loss_weights": [1.0, 0.5],
            "metrics": [["accuracy"], ["mae", "mse"]],
        },
        "x": [values[:samples] for values in x],
        "y": [values[:samples] for values in y],
        "val_x": [values[samples:] for values in x],
        "val_y": [values[samples:] for values in y],
        "fit": {"batch_size": 4, "epochs": 2},
    }


CASES = [
    dense_sgd,
    dense_class_weight,
    dense_sample_weight,
    dense_logits_momentum,
    dense_validation_split,
    dense_validation_freq,
    dense_default_batch_size,
    dense_initial_epoch,
    dense_steps_per_epoch,
    dense_ema,
    dense_accumulation,
    dense_constraint,
    binary,
    one_hot,
    regression,
    schedule,
    cnn,
    functional,
]


ALL_SUMMARIES = [dense_sgd, cnn, functional]


class BatchLogs(keras.callbacks.Callback):
    """Records the logs after each batch and each epoch, and the order of the calls."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def keep(self, event, index, logs):
        logs = {key: np.float32(value) for key, value in (logs or {}).items()}
        self.calls.append({"event": event, "index": index, "logs": logs})

    def on_train_batch_end(self, batch, logs=None):
        self.keep("train_batch_end", batch, logs)

    def on_test_batch_end(self, batch, logs=None):
        self.keep("test_batch_end", batch, logs)

    def on_epoch_end(self, epoch, logs=None):
        self.keep("epoch_end", epoch, logs)


def randomize(rng, model):
    for weight in model.weights:
        if "variance" in weight.name:
            weight.assign(common.uniform(rng, weight.shape, 0.5, 1.5))
        else:
            weight.assign(common.normal(rng, weight.shape, 0.4))


def summaries(model, all_forms=True):
    result = {}

    def capture(name, columns, **arguments):
        os.environ["COLUMNS"] = str(columns)
        parts = []
        model.summary(print_fn=parts.append, **arguments)
        os.environ["COLUMNS"] = "80"
        text = "".join(parts)
        assert "\x1b" not in text
        result[name] = text

    capture("columns_80", 80)
    if not all_forms:
        return result
    capture("columns_120", 120)
    capture("line_length_60", 120, line_length=60)
    capture("show_trainable", 120, show_trainable=True)
    capture("expand_nested", 120, expand_nested=True)
    return result


def floats(values):
    return {key: [np.float32(x) for x in np.ravel(value)] for key, value in values.items()}


def single(values):
    return values[0] if values is not None and len(values) == 1 else values


def fit_model(model, spec, data):
    """Compiles and fits; returns the history and the logs that callbacks saw."""
    validation = None
    if data["val_x"]:
        validation = tuple(single(data[key]) for key in KEYS[3:] if data[key] is not None)
    kept = BatchLogs()
    model.compile(**spec["compile"], jit_compile=False)
    history = model.fit(
        single(data["x"]),
        single(data["y"]),
        sample_weight=single(data["sample_weight"]),
        validation_data=validation,
        shuffle=False,
        verbose=0,
        callbacks=[kept],
        **spec["fit"],
    )
    return history, kept.calls


def evaluate_model(model, data, as_dict):
    return model.evaluate(
        single(data["x"]),
        single(data["y"]),
        sample_weight=single(data["sample_weight"]),
        batch_size=5,
        verbose=0,
        return_dict=as_dict,
    )


def run(make_case):
    name = make_case.__name__
    rng = common.start(name)
    spec = make_case(rng)
    model = spec["model"]
    randomize(rng, model)
    data = {key: spec.get(key) for key in KEYS}
    fit_arguments = {"shuffle": False} | spec["fit"]
    if "class_weight" in fit_arguments:
        fit_arguments["class_weight"] = [list(x) for x in fit_arguments["class_weight"].items()]
    result = {
        "name": name,
        "kind": "training",
        "fit_arguments": fit_arguments,
        "data": {key: value and [common.tensor(t) for t in value] for key, value in data.items()},
        "initial_weights": [common.variable(v) for v in model.weights],
        "summary_before_compile": summaries(model, make_case in ALL_SUMMARIES),
    }
    history, logs = fit_model(model, spec, data)
    predicted = model.predict(single(data["x"]), batch_size=5, verbose=0)
    predicted = predicted if isinstance(predicted, list) else [predicted]
    result |= {
        "json": model.to_json(),
        "compile_config": model.get_compile_config(),
        "history": {"epoch": history.epoch, "history": floats(history.history)},
        "logs": logs,
        "final_weights": [common.variable(v) for v in model.weights],
        "optimizer_variables": [common.variable(v) for v in model.optimizer.variables],
        "metrics_names": model.metrics_names,
        "evaluate_batch_size": 5,
        "evaluate": floats(evaluate_model(model, data, True)),
        "evaluate_list": [np.float32(x) for x in evaluate_model(model, data, False)],
        "predict": [common.tensor(t) for t in predicted],
        "summary": summaries(model, make_case in ALL_SUMMARIES),
    }
    return result


def nested(rng):
    encoder = keras.Sequential(
        [
            keras.Input((8,)),
            layers.Dense(1000, "relu", name="a_very_long_layer_name_that_does_not_fit_its_column"),
            layers.Dense(4),
        ],
        name="encoder",
    )
    head = keras.Sequential([keras.Input((4,)), layers.Dense(2, trainable=False)], name="head")
    first, second = keras.Input((8,), name="first"), keras.Input((8,), name="second")
    merged = encoder(first) + encoder(second) * 2.0
    outputs = [head(merged), layers.Dense(300)(merged), keras.ops.mean(merged, axis=-1)]
    return keras.Model([first, second], outputs, name="nested")


def chain(rng):
    x = inputs = keras.Input((8, 8, 3), batch_size=2)
    x = layers.Conv2D(4, 3)(x)
    x = layers.LayerNormalization(trainable=False)(x)
    x = layers.Flatten()(x)
    return keras.Model(inputs, layers.Dense(10)(x))


def residual(rng):
    inputs = keras.Input((4,), name="features")
    x = layers.Dense(4, activation="relu")(inputs)
    x = layers.Add()([x, inputs])
    y = layers.Dense(4, activation="relu")(x)
    x = layers.Concatenate(name="joined")([x, y, inputs])
    return keras.Model(inputs, layers.Dense(1)(x), name="residual")


def multiple_outputs(rng):
    inputs = keras.Input((None, 4), dtype="float32")
    outputs, state = layers.GRU(3, return_sequences=True, return_state=True)(inputs)
    return keras.Model(inputs, [outputs, state])


def half_precision(rng):
    half, mixed = layers.Dense(7, dtype="float16"), layers.Dense(3, dtype="mixed_float16")
    return keras.Sequential([keras.Input((4,)), half, mixed])


def not_built(rng):
    return keras.Sequential([layers.Dense(3), layers.Dense(2)])


SUMMARIES = [nested, chain, residual, multiple_outputs, half_precision, not_built]


def run_summary(make_model):
    name = make_model.__name__
    model = make_model(common.start(name))
    result = {"name": f"summary_{name}", "kind": "summary", "json": model.to_json()}
    return result | {"summary_before_compile": summaries(model)}


def make():
    return [run(make_case) for make_case in CASES] + [run_summary(case) for case in SUMMARIES]
