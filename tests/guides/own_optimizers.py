# SPDX-License-Identifier: Apache-2.0
"""Optimizers and learning-rate schedules of one's own, trained by fit and by a loop."""

import guide
import keras
import tensorflow as tf
from guide import history, initialize, labels, number, tensor, values
from keras import layers, ops


class Warmup(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, peak, warmup_steps):
        self.peak = peak
        self.warmup_steps = warmup_steps

    def __call__(self, step):
        progress = ops.cast(step + 1, "float32") / self.warmup_steps
        return self.peak * ops.minimum(progress, 1.0 / ops.sqrt(progress))

    def get_config(self):
        return {"peak": self.peak, "warmup_steps": self.warmup_steps}


class SoftSign(keras.optimizers.Optimizer):
    def __init__(self, learning_rate=0.001, beta=0.9, **kwargs):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta = beta

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self.momentums = self.add_optimizer_variables(variables, "momentum")

    def update_step(self, gradient, variable, learning_rate):
        learning_rate = ops.cast(learning_rate, variable.dtype)
        momentum = self.momentums[self._get_variable_index(variable)]
        mean = momentum * self.beta + gradient * (1 - self.beta)
        self.assign(momentum, mean)
        self.assign_sub(variable, learning_rate * mean / (ops.abs(mean) + 0.01))

    def get_config(self):
        config = super().get_config()
        config["beta"] = self.beta
        return config


def own_optimizer():
    model = keras.Sequential(
        [keras.Input(shape=(6,)), layers.Dense(8, activation="tanh"), layers.Dense(3)]
    )
    initialize(model, 700)
    optimizer = SoftSign(Warmup(0.05, warmup_steps=3), beta=0.8, weight_decay=0.01, clipnorm=1.0)
    model.compile(
        optimizer=optimizer, loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    x, y = values((20, 6), 701), labels(20, 3, 702)
    result = model.fit(x, y, batch_size=4, epochs=3, shuffle=False, verbose=0)
    return {
        "history": history(result),
        "rate": number(optimizer.learning_rate),
        "names": [variable.path for variable in optimizer.variables],
        "momentum": tensor(optimizer.variables[1]),
        "accumulated": accumulated(x, y),
    }


def accumulated(x, y):
    """The weight after updates of two batches each, with averages and without fit."""
    weight = keras.Variable(values((6, 3), 703), name="weight")
    optimizer = SoftSign(0.1, gradient_accumulation_steps=2, use_ema=True, ema_momentum=0.5)
    loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    for begin in range(0, 16, 4):
        with tf.GradientTape() as tape:
            loss = loss_fn(y[begin : begin + 4], ops.matmul(x[begin : begin + 4], weight))
        optimizer.apply(tape.gradient(loss, [weight.value]), [weight])
    optimizer.finalize_variable_values([weight])
    return tensor(weight)


CASES = [own_optimizer]
