# SPDX-License-Identifier: Apache-2.0
"""Guide: writing a training loop from scratch."""

import keras
import tensorflow as tf
from guide import initialize, labels, number, values
from keras import layers, ops


def get_model():
    inputs = keras.Input(shape=(784,), name="digits")
    x1 = keras.layers.Dense(64, activation="relu")(inputs)
    x2 = keras.layers.Dense(64, activation="relu")(x1)
    outputs = keras.layers.Dense(10, name="predictions")(x2)
    model = keras.Model(inputs=inputs, outputs=outputs)
    initialize(model, 400)
    return model


def datasets():
    train = (values((64, 784), 401), labels(64, 10, 402))
    val = (values((32, 784), 403), labels(32, 10, 404))
    train_dataset = tf.data.Dataset.from_tensor_slices(train).batch(16)
    val_dataset = tf.data.Dataset.from_tensor_slices(val).batch(16)
    return train_dataset, val_dataset


def loop_eager():
    model = get_model()
    optimizer = keras.optimizers.Adam(learning_rate=1e-3)
    loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    train_acc_metric = keras.metrics.SparseCategoricalAccuracy()
    val_acc_metric = keras.metrics.SparseCategoricalAccuracy()
    train_dataset, val_dataset = datasets()

    losses, train_accuracies, val_accuracies = [], [], []
    for epoch in range(2):
        for step, (x_batch_train, y_batch_train) in enumerate(train_dataset):
            with tf.GradientTape() as tape:
                logits = model(x_batch_train, training=True)
                loss_value = loss_fn(y_batch_train, logits)
            grads = tape.gradient(loss_value, model.trainable_weights)
            optimizer.apply(grads, model.trainable_weights)

            # Update training metric.
            train_acc_metric.update_state(y_batch_train, logits)
            losses.append(number(loss_value))

        train_accuracies.append(number(train_acc_metric.result()))
        # Reset training metrics at the end of each epoch
        train_acc_metric.reset_state()

        # Run a validation loop at the end of each epoch.
        for x_batch_val, y_batch_val in val_dataset:
            val_logits = model(x_batch_val, training=False)
            val_acc_metric.update_state(y_batch_val, val_logits)
        val_accuracies.append(number(val_acc_metric.result()))
        val_acc_metric.reset_state()
    return {"losses": losses, "train": train_accuracies, "val": val_accuracies}


class ActivityRegularizationLayer(layers.Layer):
    def call(self, inputs):
        self.add_loss(1e-2 * ops.sum(inputs))
        return inputs


def loop_compiled():
    inputs = keras.Input(shape=(784,), name="digits")
    x = keras.layers.Dense(64, activation="relu")(inputs)
    # Insert activity regularization as a layer
    x = ActivityRegularizationLayer()(x)
    x = keras.layers.Dense(64, activation="relu")(x)
    outputs = keras.layers.Dense(10, name="predictions")(x)
    model = keras.Model(inputs=inputs, outputs=outputs)
    initialize(model, 410)
    optimizer = keras.optimizers.SGD(learning_rate=1e-3)
    loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    train_acc_metric = keras.metrics.SparseCategoricalAccuracy()

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss_value = loss_fn(y, logits)
            # Add any extra losses created during the forward pass.
            loss_value += sum(model.losses)
        grads = tape.gradient(loss_value, model.trainable_weights)
        optimizer.apply(grads, model.trainable_weights)
        train_acc_metric.update_state(y, logits)
        return loss_value

    losses = []
    for epoch in range(2):
        for x, y in datasets()[0]:
            losses.append(number(train_step(x, y)))
    return {"losses": losses, "accuracy": number(train_acc_metric.result())}


CASES = [loop_eager, loop_compiled]
