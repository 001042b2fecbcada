# SPDX-License-Identifier: Apache-2.0
"""Guide: training and evaluation with the built-in methods."""

import keras
import numpy as np
import tensorflow as tf
from guide import history, initialize, labels, logs, number, tensor, values
from keras import layers, ops


def get_uncompiled_model():
    inputs = keras.Input(shape=(784,), name="digits")
    x = layers.Dense(64, activation="relu", name="dense_1")(inputs)
    x = layers.Dense(64, activation="relu", name="dense_2")(x)
    outputs = layers.Dense(10, activation="softmax", name="predictions")(x)
    model = keras.Model(inputs=inputs, outputs=outputs)
    initialize(model, 200)
    return model


def get_compiled_model():
    model = get_uncompiled_model()
    model.compile(
        optimizer="rmsprop",
        loss="sparse_categorical_crossentropy",
        metrics=["sparse_categorical_accuracy"],
    )
    return model


def digits(count, seed):
    return values((count, 784), seed), labels(count, 10, seed + 1)


def training_first_example():
    x_train, y_train = digits(64, 201)
    x_val, y_val = digits(20, 203)
    model = get_uncompiled_model()
    model.compile(
        optimizer=keras.optimizers.RMSprop(),
        loss=keras.losses.SparseCategoricalCrossentropy(),
        metrics=[keras.metrics.SparseCategoricalAccuracy()],
    )
    result = model.fit(
        x_train,
        y_train,
        batch_size=16,
        epochs=2,
        validation_data=(x_val, y_val),
        shuffle=False,
        verbose=0,
    )
    results = model.evaluate(x_val, y_val, batch_size=8, verbose=0, return_dict=True)
    return {
        "history": history(result),
        "results": logs(results),
        "predictions": tensor(model.predict(x_val[:3], verbose=0)),
    }


def custom_mean_squared_error(y_true, y_pred):
    return ops.mean(ops.square(y_true - y_pred), axis=-1)


class CustomMSE(keras.losses.Loss):
    def __init__(self, regularization_factor=0.1, name="custom_mse"):
        super().__init__(name=name)
        self.regularization_factor = regularization_factor

    def call(self, y_true, y_pred):
        mse = ops.mean(ops.square(y_true - y_pred), axis=-1)
        reg = ops.mean(ops.square(0.5 - y_pred), axis=-1)
        return mse + reg * self.regularization_factor


def training_custom_losses():
    x_train, y_train = digits(48, 205)
    y_train_one_hot = ops.one_hot(y_train, num_classes=10)
    model = get_uncompiled_model()
    model.compile(optimizer=keras.optimizers.Adam(), loss=custom_mean_squared_error)
    first = model.fit(
        x_train, y_train_one_hot, batch_size=16, epochs=1, shuffle=False, verbose=0
    )
    model = get_uncompiled_model()
    model.compile(optimizer=keras.optimizers.Adam(), loss=CustomMSE())
    second = model.fit(
        x_train, y_train_one_hot, batch_size=16, epochs=1, shuffle=False, verbose=0
    )
    return {"function": history(first), "class": history(second)}


class CategoricalTruePositives(keras.metrics.Metric):
    def __init__(self, name="categorical_true_positives", **kwargs):
        super().__init__(name=name, **kwargs)
        self.true_positives = self.add_variable(shape=(), name="ctp", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_pred = ops.reshape(ops.argmax(y_pred, axis=1), (-1, 1))
        matches = ops.cast(y_true, "int32") == ops.cast(y_pred, "int32")
        matches = ops.cast(matches, "float32")
        if sample_weight is not None:
            matches = ops.multiply(matches, ops.cast(sample_weight, "float32"))
        self.true_positives.assign_add(ops.sum(matches))

    def result(self):
        return self.true_positives

    def reset_state(self):
        self.true_positives.assign(0.0)


def training_custom_metric():
    x_train, y_train = digits(64, 207)
    model = get_uncompiled_model()
    model.compile(
        optimizer=keras.optimizers.RMSprop(learning_rate=1e-3),
        loss=keras.losses.SparseCategoricalCrossentropy(),
        metrics=[CategoricalTruePositives()],
    )
    result = model.fit(
        x_train, y_train[:, None], batch_size=16, epochs=3, shuffle=False, verbose=0
    )
    return {"history": history(result)}


class ActivityRegularizationLayer(layers.Layer):
    def call(self, inputs):
        self.add_loss(ops.sum(inputs) * 0.1)
        return inputs


class LogisticEndpoint(layers.Layer):
    def __init__(self, name=None):
        super().__init__(name=name)
        self.loss_fn = keras.losses.BinaryCrossentropy(from_logits=True)

    def call(self, targets, logits, sample_weights=None):
        loss = self.loss_fn(targets, logits, sample_weights)
        self.add_loss(loss)
        return ops.softmax(logits)


def training_endpoint():
    inputs = keras.Input(shape=(784,), name="digits")
    x = layers.Dense(64, activation="relu", name="dense_1")(inputs)
    x = ActivityRegularizationLayer()(x)
    outputs = layers.Dense(10, name="predictions")(x)
    model = keras.Model(inputs=inputs, outputs=outputs)
    initialize(model, 210)
    model.compile(
        optimizer=keras.optimizers.SGD(1e-4),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    x_train, y_train = digits(64, 211)
    regularized = model.fit(
        x_train, y_train, batch_size=16, epochs=1, shuffle=False, verbose=0
    )

    inputs = keras.Input(shape=(3,), name="inputs")
    targets = keras.Input(shape=(10,), name="targets")
    logits = keras.layers.Dense(10)(inputs)
    predictions = LogisticEndpoint(name="predictions")(targets, logits)
    model = keras.Model(inputs=[inputs, targets], outputs=predictions)
    initialize(model, 213)
    model.compile(optimizer="adam")  # No loss argument!
    data = {"inputs": values((3, 3), 214), "targets": np.eye(10, dtype="float32")[:3]}
    endpoint = model.fit(data, verbose=0)
    return {"regularized": history(regularized), "endpoint": history(endpoint)}


def training_datasets():
    x_train, y_train = digits(80, 215)
    model = get_compiled_model()
    split = model.fit(
        x_train, y_train, batch_size=16, validation_split=0.2, epochs=1, shuffle=False, verbose=0
    )

    model = get_compiled_model()
    train_dataset = tf.data.Dataset.from_tensor_slices((x_train, y_train)).batch(16)
    test_dataset = tf.data.Dataset.from_tensor_slices(digits(24, 217)).batch(16)
    whole = model.fit(train_dataset, epochs=2, verbose=0)
    results = model.evaluate(test_dataset, verbose=0, return_dict=True)

    model = get_compiled_model()
    some = model.fit(
        train_dataset,
        epochs=1,
        steps_per_epoch=3,
        validation_data=test_dataset,
        validation_steps=1,
        verbose=0,
    )
    return {
        "split": history(split),
        "whole": history(whole),
        "results": logs(results),
        "some": history(some),
    }


def training_weights():
    x_train, y_train = digits(64, 219)
    class_weight = {i: 2.0 if i == 5 else 1.0 for i in range(10)}
    model = get_compiled_model()
    by_class = model.fit(
        x_train, y_train, class_weight=class_weight, batch_size=16, shuffle=False, verbose=0
    )

    sample_weight = np.ones(shape=(len(y_train),), dtype="float32")
    sample_weight[y_train == 5] = 2.0
    model = get_compiled_model()
    by_sample = model.fit(
        x_train, y_train, sample_weight=sample_weight, batch_size=16, shuffle=False, verbose=0
    )

    train_dataset = tf.data.Dataset.from_tensor_slices((x_train, y_train, sample_weight))
    model = get_compiled_model()
    in_dataset = model.fit(train_dataset.batch(16), epochs=1, verbose=0)
    return {
        "by_class": history(by_class),
        "by_sample": history(by_sample),
        "in_dataset": history(in_dataset),
    }


def two_headed_model():
    image_input = keras.Input(shape=(32, 32, 3), name="img_input")
    timeseries_input = keras.Input(shape=(None, 10), name="ts_input")

    x1 = layers.Conv2D(3, 3)(image_input)
    x1 = layers.GlobalMaxPooling2D()(x1)
    x2 = layers.Conv1D(3, 3)(timeseries_input)
    x2 = layers.GlobalMaxPooling1D()(x2)
    x = layers.concatenate([x1, x2])

    score_output = layers.Dense(1, name="score_output")(x)
    class_output = layers.Dense(5, name="class_output")(x)
    model = keras.Model(
        inputs=[image_input, timeseries_input], outputs=[score_output, class_output]
    )
    initialize(model, 220)
    return model


def training_two_heads():
    img_data = values((20, 32, 32, 3), 221)
    ts_data = values((20, 20, 10), 222)
    score_targets = values((20, 1), 223)
    class_targets = np.eye(5, dtype="float32")[labels(20, 5, 224)]

    model = two_headed_model()
    model.compile(
        optimizer=keras.optimizers.RMSprop(1e-3),
        loss=[
            keras.losses.MeanSquaredError(),
            keras.losses.CategoricalCrossentropy(from_logits=True),
        ],
        metrics=[
            [
                keras.metrics.MeanAbsolutePercentageError(),
                keras.metrics.MeanAbsoluteError(),
            ],
            [keras.metrics.CategoricalAccuracy()],
        ],
    )
    lists = model.fit(
        [img_data, ts_data],
        [score_targets, class_targets],
        batch_size=8,
        epochs=2,
        shuffle=False,
        verbose=0,
    )

    model = two_headed_model()
    model.compile(
        optimizer=keras.optimizers.RMSprop(1e-3),
        loss={
            "score_output": keras.losses.MeanSquaredError(),
            "class_output": keras.losses.CategoricalCrossentropy(from_logits=True),
        },
        metrics={
            "score_output": [
                keras.metrics.MeanAbsolutePercentageError(),
                keras.metrics.MeanAbsoluteError(),
            ],
            "class_output": [keras.metrics.CategoricalAccuracy()],
        },
        loss_weights={"score_output": 2.0, "class_output": 1.0},
    )
    names = model.fit(
        {"img_input": img_data, "ts_input": ts_data},
        {"score_output": score_targets, "class_output": class_targets},
        batch_size=8,
        epochs=2,
        shuffle=False,
        verbose=0,
    )

    model = two_headed_model()
    model.compile(  # Only the class output is trained.
        optimizer=keras.optimizers.RMSprop(1e-3),
        loss=[None, keras.losses.CategoricalCrossentropy(from_logits=True)],
    )
    one = model.fit(
        [img_data, ts_data],
        [score_targets, class_targets],
        batch_size=8,
        epochs=1,
        shuffle=False,
        verbose=0,
    )
    return {"lists": history(lists), "names": history(names), "one": history(one)}


class LossHistory(keras.callbacks.Callback):
    def on_train_begin(self, logs):
        self.per_batch_losses = []

    def on_batch_end(self, batch, logs):
        self.per_batch_losses.append(np.float32(logs.get("loss")))


def training_callbacks():
    x_train, y_train = digits(64, 225)
    model = get_compiled_model()
    losses = LossHistory()
    callbacks = [
        keras.callbacks.EarlyStopping(
            # Stop training when `val_loss` is no longer improving
            monitor="val_loss",
            # "no longer improving" being defined as "no better than 1e-2 less"
            min_delta=1e-2,
            # "no longer improving" being further defined as "for at least 2 epochs"
            patience=2,
        ),
        losses,
    ]
    result = model.fit(
        x_train,
        y_train,
        epochs=20,
        batch_size=16,
        callbacks=callbacks,
        validation_split=0.25,
        shuffle=False,
        verbose=0,
    )
    return {
        "epochs": len(result.epoch),
        "history": history(result),
        "first_losses": losses.per_batch_losses[:6],
    }


def training_schedule():
    lr_schedule = keras.optimizers.schedules.ExponentialDecay(
        0.1, decay_steps=2, decay_rate=0.96, staircase=True
    )
    x_train, y_train = digits(64, 227)
    model = get_uncompiled_model()
    model.compile(
        optimizer=keras.optimizers.SGD(learning_rate=lr_schedule),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    result = model.fit(x_train, y_train, batch_size=16, epochs=3, shuffle=False, verbose=0)
    return {"history": history(result), "rate": number(model.optimizer.learning_rate)}


CASES = [
    training_first_example,
    training_custom_losses,
    training_custom_metric,
    training_endpoint,
    training_datasets,
    training_weights,
    training_two_heads,
    training_callbacks,
    training_schedule,
]
