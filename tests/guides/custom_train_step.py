# SPDX-License-Identifier: Apache-2.0
"""Guide: customizing what happens in fit()."""

import keras
import tensorflow as tf
from guide import history, initialize, logs, positive, values
from keras import layers, ops


class CustomModel(keras.Model):
    def train_step(self, data):
        x, y = data

        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)  # Forward pass
            loss = self.compute_loss(y=y, y_pred=y_pred)

        trainable_vars = self.trainable_variables
        gradients = tape.gradient(loss, trainable_vars)
        self.optimizer.apply(gradients, trainable_vars)

        # Update metrics (includes the metric that tracks the loss)
        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss)
            else:
                metric.update_state(y, y_pred)
        return {m.name: m.result() for m in self.metrics}


def make(model_class, seed=300):
    inputs = keras.Input(shape=(32,))
    outputs = keras.layers.Dense(1)(inputs)
    model = model_class(inputs, outputs)
    initialize(model, seed)
    return model


def data():
    return values((64, 32), 301), positive((64, 1), 302)


def train_step_first():
    model = make(CustomModel)
    model.compile(optimizer="adam", loss="mse", metrics=["mae"])
    x, y = data()
    return {
        "history": history(model.fit(x, y, batch_size=16, epochs=3, shuffle=False, verbose=0)),
        "metrics": [metric.name for metric in model.metrics],
    }


class LowLevelModel(keras.Model):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.loss_tracker = keras.metrics.Mean(name="loss")
        self.mae_metric = keras.metrics.MeanAbsoluteError(name="mae")
        self.loss_fn = keras.losses.MeanSquaredError()

    def train_step(self, data):
        x, y = data

        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)  # Forward pass
            loss = self.loss_fn(y, y_pred)

        trainable_vars = self.trainable_variables
        gradients = tape.gradient(loss, trainable_vars)
        self.optimizer.apply(gradients, trainable_vars)

        self.loss_tracker.update_state(loss)
        self.mae_metric.update_state(y, y_pred)
        return {
            "loss": self.loss_tracker.result(),
            "mae": self.mae_metric.result(),
        }

    @property
    def metrics(self):
        # `reset_state()` is called on these at the start of each epoch.
        return [self.loss_tracker, self.mae_metric]


def train_step_low_level():
    model = make(LowLevelModel)
    model.compile(optimizer="adam")
    x, y = data()
    result = model.fit(x, y, batch_size=16, epochs=5, shuffle=False, verbose=0)
    return {"history": history(result)}


class WeightedModel(keras.Model):
    def train_step(self, data):
        if len(data) == 3:
            x, y, sample_weight = data
        else:
            sample_weight = None
            x, y = data

        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)  # Forward pass
            loss = self.compute_loss(y=y, y_pred=y_pred, sample_weight=sample_weight)

        trainable_vars = self.trainable_variables
        gradients = tape.gradient(loss, trainable_vars)
        self.optimizer.apply(gradients, trainable_vars)

        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss)
            else:
                metric.update_state(y, y_pred, sample_weight=sample_weight)
        return {m.name: m.result() for m in self.metrics}


def train_step_weighted():
    model = make(WeightedModel)
    model.compile(optimizer="adam", loss="mse", metrics=["mae"])
    x, y = data()
    sample_weight = positive((64, 1), 303)
    result = model.fit(
        x, y, sample_weight=sample_weight, batch_size=16, epochs=3, shuffle=False, verbose=0
    )
    return {"history": history(result)}


class EvaluatedModel(keras.Model):
    def test_step(self, data):
        x, y = data
        y_pred = self(x, training=False)
        loss = self.compute_loss(y=y, y_pred=y_pred)
        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss)
            else:
                metric.update_state(y, y_pred)
        return {m.name: m.result() for m in self.metrics}


def test_step():
    model = make(EvaluatedModel)
    model.compile(loss="mse", metrics=["mae"])
    x, y = data()
    return {"results": logs(model.evaluate(x, y, verbose=0, return_dict=True))}


class GAN(keras.Model):
    def __init__(self, discriminator, generator, latent_dim, noise=1.0):
        super().__init__()
        self.discriminator = discriminator
        self.generator = generator
        self.latent_dim = latent_dim
        self.noise = noise
        self.d_loss_tracker = keras.metrics.Mean(name="d_loss")
        self.g_loss_tracker = keras.metrics.Mean(name="g_loss")
        self.seed_generator = keras.random.SeedGenerator(1337)

    @property
    def metrics(self):
        return [self.d_loss_tracker, self.g_loss_tracker]

    def compile(self, d_optimizer, g_optimizer, loss_fn):
        super().compile()
        self.d_optimizer = d_optimizer
        self.g_optimizer = g_optimizer
        self.loss_fn = loss_fn

    def latent(self, batch_size):
        shape = (batch_size, self.latent_dim)
        return self.noise * keras.random.normal(shape=shape, seed=self.seed_generator) + 1.0

    def train_step(self, real_images):
        # Sample random points in the latent space
        batch_size = ops.shape(real_images)[0]
        random_latent_vectors = self.latent(batch_size)
        # Decode them to fake images
        generated_images = self.generator(random_latent_vectors)
        # Combine them with real images
        combined_images = ops.concatenate([generated_images, real_images], axis=0)
        # Assemble labels discriminating real from fake images
        labels = ops.concatenate([ops.ones((batch_size, 1)), ops.zeros((batch_size, 1))], axis=0)

        # Train the discriminator
        with tf.GradientTape() as tape:
            predictions = self.discriminator(combined_images)
            d_loss = self.loss_fn(labels, predictions)
        grads = tape.gradient(d_loss, self.discriminator.trainable_weights)
        self.d_optimizer.apply(grads, self.discriminator.trainable_weights)

        # Sample random points in the latent space
        random_latent_vectors = self.latent(batch_size)
        # Assemble labels that say "all real images"
        misleading_labels = ops.zeros((batch_size, 1))

        # Train the generator (note that we should *not* update the weights
        # of the discriminator)!
        with tf.GradientTape() as tape:
            predictions = self.discriminator(self.generator(random_latent_vectors))
            g_loss = self.loss_fn(misleading_labels, predictions)
        grads = tape.gradient(g_loss, self.generator.trainable_weights)
        self.g_optimizer.apply(grads, self.generator.trainable_weights)

        # Update metrics and return their value.
        self.d_loss_tracker.update_state(d_loss)
        self.g_loss_tracker.update_state(g_loss)
        return {
            "d_loss": self.d_loss_tracker.result(),
            "g_loss": self.g_loss_tracker.result(),
        }


def make_gan(noise):
    discriminator = keras.Sequential(
        [
            keras.Input(shape=(28, 28, 1)),
            layers.Conv2D(16, (3, 3), strides=(2, 2), padding="same"),
            layers.LeakyReLU(negative_slope=0.2),
            layers.Conv2D(32, (3, 3), strides=(2, 2), padding="same"),
            layers.LeakyReLU(negative_slope=0.2),
            layers.GlobalMaxPooling2D(),
            layers.Dense(1),
        ],
        name="discriminator",
    )
    latent_dim = 32
    generator = keras.Sequential(
        [
            keras.Input(shape=(latent_dim,)),
            layers.Dense(7 * 7 * 32),
            layers.LeakyReLU(negative_slope=0.2),
            layers.Reshape((7, 7, 32)),
            layers.Conv2DTranspose(32, (4, 4), strides=(2, 2), padding="same"),
            layers.LeakyReLU(negative_slope=0.2),
            layers.Conv2DTranspose(32, (4, 4), strides=(2, 2), padding="same"),
            layers.LeakyReLU(negative_slope=0.2),
            layers.Conv2D(1, (7, 7), padding="same", activation="sigmoid"),
        ],
        name="generator",
    )
    initialize(discriminator, 310)
    initialize(generator, 320)
    return GAN(discriminator, generator, latent_dim, noise)


def train_step_gan():
    gan = make_gan(noise=0.0)
    gan.compile(
        d_optimizer=keras.optimizers.SGD(learning_rate=0.01),
        g_optimizer=keras.optimizers.SGD(learning_rate=0.01),
        loss_fn=keras.losses.BinaryCrossentropy(from_logits=True),
    )
    images = positive((16, 28, 28, 1), 330)
    result = gan.fit(images, batch_size=4, epochs=2, shuffle=False, verbose=0)
    return {"history": history(result)}


CASES = [
    train_step_first,
    train_step_low_level,
    train_step_weighted,
    test_step,
    train_step_gan,
]
