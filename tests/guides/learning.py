# SPDX-License-Identifier: Apache-2.0
"""Examples: knowledge distillation, Reptile, and Keras's introduction for researchers."""

import keras
import numpy as np
import tensorflow as tf
from guide import history, initialize, labels, logs, number, positive, tensor, values
from keras import layers, ops


class Distiller(keras.Model):
    def __init__(self, student, teacher):
        super().__init__()
        self.teacher = teacher
        self.student = student

    def compile(
        self,
        optimizer,
        metrics,
        student_loss_fn,
        distillation_loss_fn,
        alpha=0.1,
        temperature=3,
    ):
        super().compile(optimizer=optimizer, metrics=metrics)
        self.student_loss_fn = student_loss_fn
        self.distillation_loss_fn = distillation_loss_fn
        self.alpha = alpha
        self.temperature = temperature

    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        teacher_pred = self.teacher(x, training=False)
        student_loss = self.student_loss_fn(y, y_pred)
        distillation_loss = self.distillation_loss_fn(
            ops.softmax(teacher_pred / self.temperature, axis=1),
            ops.softmax(y_pred / self.temperature, axis=1),
        ) * (self.temperature**2)
        return self.alpha * student_loss + (1 - self.alpha) * distillation_loss

    def call(self, x):
        return self.student(x)


def make_classifier(filters, name):
    return keras.Sequential(
        [
            keras.Input(shape=(28, 28, 1)),
            layers.Conv2D(filters, (3, 3), strides=(2, 2), padding="same"),
            layers.LeakyReLU(negative_slope=0.2),
            layers.MaxPooling2D(pool_size=(2, 2), strides=(1, 1), padding="same"),
            layers.Conv2D(2 * filters, (3, 3), strides=(2, 2), padding="same"),
            layers.Flatten(),
            layers.Dense(10),
        ],
        name=name,
    )


def distillation():
    teacher = make_classifier(16, "teacher")
    student = make_classifier(4, "student")
    initialize(teacher, 1100)
    initialize(student, 1110)
    distiller = Distiller(student=student, teacher=teacher)
    distiller.compile(
        optimizer=keras.optimizers.SGD(0.01),
        metrics=[keras.metrics.SparseCategoricalAccuracy()],
        student_loss_fn=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        distillation_loss_fn=keras.losses.KLDivergence(),
        alpha=0.1,
        temperature=10,
    )
    x, y = positive((32, 28, 28, 1), 1120), labels(32, 10, 1121)
    before = teacher.get_weights()
    # Distill teacher to student
    result = distiller.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0)
    moved = max(float(np.max(np.abs(a - b))) for a, b in zip(before, teacher.get_weights()))
    # Evaluate student on test dataset
    return {
        "history": history(result),
        "results": logs(distiller.evaluate(x, y, verbose=0, return_dict=True)),
        "teacher_learns": moved > 0,
    }


def reptile():
    inputs = layers.Input(shape=(8, 8, 1))
    x = inputs
    for _ in range(2):
        x = layers.Conv2D(filters=8, kernel_size=3, strides=2, padding="same")(x)
        x = layers.BatchNormalization()(x)
        x = layers.ReLU()(x)
    x = layers.Flatten()(x)
    outputs = layers.Dense(5, activation="softmax")(x)
    model = keras.Model(inputs=inputs, outputs=outputs)
    initialize(model, 1130)
    model.compile()
    optimizer = keras.optimizers.SGD(learning_rate=0.003)

    meta_iters, meta_step_size = 4, 0.25
    losses = []
    for meta_iter in range(meta_iters):
        frac_done = meta_iter / meta_iters
        cur_meta_step_size = (1 - frac_done) * meta_step_size
        # Temporarily save the weights from the model.
        old_vars = model.get_weights()
        # Get a sample from the full dataset.
        for inner_iter in range(2):
            seed = 1140 + 10 * meta_iter + inner_iter
            images, classes = positive((10, 8, 8, 1), seed), labels(10, 5, seed)
            with tf.GradientTape() as tape:
                preds = model(images)
                loss = ops.mean(keras.losses.sparse_categorical_crossentropy(classes, preds))
            grads = tape.gradient(loss, model.trainable_weights)
            optimizer.apply_gradients(zip(grads, model.trainable_weights))
            losses.append(number(loss))
        new_vars = model.get_weights()
        # Perform SGD for the meta step.
        for var in range(len(new_vars)):
            new_vars[var] = old_vars[var] + (
                (new_vars[var] - old_vars[var]) * np.float32(cur_meta_step_size)
            )
        # After the meta-learning step, reload the newly-trained weights into the model.
        model.set_weights(new_vars)
    predictions = model.predict(positive((3, 8, 8, 1), 1190), verbose=0)
    return {"losses": losses, "predictions": tensor(predictions)}


def researchers_tensors():
    x = tf.constant([[5, 2], [1, 3]])
    a = tf.Variable(values((2, 2), 1200))
    b = tf.Variable(values((2, 2), 1201))
    shapes = [list(x.shape), list(ops.ones(shape=(2, 1)).shape)]
    a.assign_add(tf.ones((2, 2)))
    assigned = tensor(a.value())

    with tf.GradientTape() as tape:
        tape.watch(a)  # Start recording the history of operations applied to `a`
        c = ops.sqrt(ops.square(a) + ops.square(b))
    dc_da = tape.gradient(c, a)

    with tf.GradientTape() as outer_tape:
        with tf.GradientTape() as tape:
            c = ops.sqrt(ops.square(a) + ops.square(b))
            dc_da = tape.gradient(c, a)
        d2c_da2 = outer_tape.gradient(dc_da, a)
    return {
        "dtype": x.dtype.name,
        "shapes": shapes,
        "assigned": assigned,
        "dc_da": tensor(dc_da),
        "d2c_da2": tensor(d2c_da2),
    }


class Linear(keras.layers.Layer):
    """y = w.x + b"""

    def __init__(self, units=32):
        super().__init__()
        self.units = units

    def build(self, input_shape):
        self.w = self.add_weight(
            shape=(input_shape[-1], self.units), initializer="random_normal", trainable=True
        )
        self.b = self.add_weight(shape=(self.units,), initializer="zeros", trainable=True)

    def call(self, inputs):
        return ops.matmul(inputs, self.w) + self.b


class ActivityRegularization(keras.layers.Layer):
    """Layer that creates an activity sparsity regularization loss."""

    def __init__(self, rate=1e-2):
        super().__init__()
        self.rate = rate

    def call(self, inputs):
        # We use `add_loss` to create a regularization loss that depends on the inputs.
        self.add_loss(self.rate * ops.sum(inputs))
        return inputs


class SparseMLP(keras.layers.Layer):
    """Stack of Linear layers with a sparsity regularization loss."""

    def __init__(self):
        super().__init__()
        self.linear_1 = Linear(32)
        self.regularization = ActivityRegularization(1e-2)
        self.linear_3 = Linear(10)

    def call(self, inputs):
        x = self.linear_1(inputs)
        x = ops.relu(x)
        x = self.regularization(x)
        return self.linear_3(x)


def researchers_losses():
    mlp = SparseMLP()
    mlp(ops.ones((10, 10)))
    initialize(mlp, 1210)
    counts = [len(mlp.losses)]
    mlp(values((10, 10), 1211))
    counts.append(len(mlp.losses))  # losses don't accumulate across calls

    mlp = SparseMLP()
    mlp(ops.ones((1, 784)))
    initialize(mlp, 1212)
    loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = keras.optimizers.SGD(learning_rate=1e-3)
    losses = []
    for step in range(4):
        x, y = values((64, 784), 1220 + step), labels(64, 10, 1230 + step)
        with tf.GradientTape() as tape:
            logits = mlp(x)
            loss = loss_fn(y, logits)
            loss += sum(mlp.losses)  # Add extra loss terms
        gradients = tape.gradient(loss, mlp.trainable_weights)
        optimizer.apply_gradients(zip(gradients, mlp.trainable_weights))
        losses.append(number(loss))
    return {"counts": counts, "losses": losses}


def researchers_hypernetwork():
    input_dim, classes = 64, 10
    # The number of weights of two dense layers, which the hypernetwork generates.
    num_weights_to_generate = classes * classes + classes + classes * input_dim + classes
    outer_model = keras.Sequential(
        [
            keras.Input((input_dim,)),
            keras.layers.Dense(16, activation="relu"),
            keras.layers.Dense(num_weights_to_generate, activation="sigmoid"),
        ]
    )
    initialize(outer_model, 1240)
    loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = keras.optimizers.SGD(learning_rate=1e-2)

    def inner(weights, x):
        at = 0
        for rows in (input_dim, classes):
            w = ops.reshape(weights[at : at + rows * classes], (rows, classes))
            at += rows * classes
            b = weights[at : at + classes]
            at += classes
            x = ops.relu(ops.matmul(x, w - 0.5) + b) if rows == input_dim else ops.matmul(x, w) + b
        return x

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            # Predict the weights of the inner model, then make predictions with them.
            weights_pred = outer_model(x)
            preds = inner(weights_pred[0], x)
            loss = loss_fn(y, preds)
        # Train only the outer model.
        grads = tape.gradient(loss, outer_model.trainable_weights)
        optimizer.apply_gradients(zip(grads, outer_model.trainable_weights))
        return loss

    losses = [
        number(train_step(values((1, input_dim), 1250 + i), labels(1, classes, 1260 + i)))
        for i in range(6)
    ]
    return {"losses": losses}


CASES = [
    distillation,
    reptile,
    researchers_tensors,
    researchers_losses,
    researchers_hypernetwork,
]
