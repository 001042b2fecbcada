# SPDX-License-Identifier: Apache-2.0
"""Tutorials: tf.distribute with fit, and with a custom training loop."""

import keras
import tensorflow as tf
from guide import history, initialize, labels, logs, number, positive
from keras import layers

BATCH_SIZE = 16


def make_dataset():
    train_images = positive((64, 28, 28, 1), 1400)
    train_labels = labels(64, 10, 1401)
    return tf.data.Dataset.from_tensor_slices((train_images, train_labels)).batch(BATCH_SIZE)


def create_model():
    model = keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(8, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(16, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(16, activation="relu"),
            layers.Dense(10),
        ]
    )
    initialize(model, 1410)
    return model


def distributed_fit():
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    with strategy.scope():
        model = create_model()
        model.compile(
            loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            optimizer=keras.optimizers.Adam(),
            metrics=["accuracy"],
        )
    result = model.fit(make_dataset().repeat(), epochs=2, steps_per_epoch=4, verbose=0)
    eval_figures = model.evaluate(make_dataset(), verbose=0, return_dict=True)
    return {
        "replicas": strategy.num_replicas_in_sync,
        "history": history(result),
        "evaluate": logs(eval_figures),
    }


def distributed_loop():
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    global_batch_size = BATCH_SIZE * strategy.num_replicas_in_sync
    train_dist_dataset = strategy.experimental_distribute_dataset(make_dataset())

    with strategy.scope():
        # Set reduction to `NONE` so you can do the reduction afterwards.
        loss_object = keras.losses.SparseCategoricalCrossentropy(
            from_logits=True, reduction="none"
        )
        train_accuracy = keras.metrics.SparseCategoricalAccuracy(name="train_accuracy")
        model = create_model()
        optimizer = keras.optimizers.Adam(learning_rate=0.001)

    def compute_loss(labels, predictions):
        per_example_loss = loss_object(labels, predictions)
        return tf.nn.compute_average_loss(per_example_loss, global_batch_size=global_batch_size)

    def train_step(inputs):
        images, labels = inputs
        with tf.GradientTape() as tape:
            predictions = model(images, training=True)
            loss = compute_loss(labels, predictions)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        train_accuracy.update_state(labels, predictions)
        return loss

    @tf.function
    def distributed_train_step(dataset_inputs):
        per_replica_losses = strategy.run(train_step, args=(dataset_inputs,))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica_losses, axis=None)

    losses, accuracies = [], []
    for epoch in range(2):
        total_loss = 0.0
        num_batches = 0
        for x in train_dist_dataset:
            total_loss += distributed_train_step(x)
            num_batches += 1
        losses.append(number(total_loss / num_batches))
        accuracies.append(number(train_accuracy.result()))
        train_accuracy.reset_state()
    return {"losses": losses, "accuracies": accuracies}


CASES = [distributed_fit, distributed_loop]
