# SPDX-License-Identifier: Apache-2.0
"""Examples: WGAN-GP and RealNVP."""

import keras
import numpy as np
import tensorflow as tf
from guide import history, initialize, tensor, values
from keras import layers, ops


class WGAN(keras.Model):
    def __init__(
        self,
        discriminator,
        generator,
        latent_dim,
        discriminator_extra_steps=3,
        gp_weight=10.0,
        noise=1.0,
    ):
        super().__init__()
        self.discriminator = discriminator
        self.generator = generator
        self.latent_dim = latent_dim
        self.d_steps = discriminator_extra_steps
        self.gp_weight = gp_weight
        self.noise = noise

    def compile(self, d_optimizer, g_optimizer, d_loss_fn, g_loss_fn):
        super().compile()
        self.d_optimizer = d_optimizer
        self.g_optimizer = g_optimizer
        self.d_loss_fn = d_loss_fn
        self.g_loss_fn = g_loss_fn

    def latent(self, batch_size):
        return self.noise * keras.random.normal((batch_size, self.latent_dim)) + 0.5

    def gradient_penalty(self, batch_size, real_images, fake_images):
        """Calculates the gradient penalty on an interpolated image; it is added to the loss."""
        # Get the interpolated image
        alpha = self.noise * keras.random.uniform((batch_size, 1, 1, 1)) + 0.25
        diff = fake_images - real_images
        interpolated = real_images + alpha * diff

        with tf.GradientTape() as gp_tape:
            gp_tape.watch(interpolated)
            # 1. Get the discriminator output for this interpolated image.
            pred = self.discriminator(interpolated, training=True)
        # 2. Calculate the gradients w.r.t to this interpolated image.
        grads = gp_tape.gradient(pred, [interpolated])[0]
        # 3. Calculate the norm of the gradients.
        norm = ops.sqrt(ops.sum(ops.square(grads), axis=[1, 2, 3]))
        return ops.mean((norm - 1.0) ** 2)

    def train_step(self, real_images):
        batch_size = ops.shape(real_images)[0]
        # Train the discriminator first, for `d_steps` steps.
        for i in range(self.d_steps):
            random_latent_vectors = self.latent(batch_size)
            with tf.GradientTape() as tape:
                # Generate fake images from the latent vector
                fake_images = self.generator(random_latent_vectors, training=True)
                # Get the logits for the fake images
                fake_logits = self.discriminator(fake_images, training=True)
                # Get the logits for the real images
                real_logits = self.discriminator(real_images, training=True)
                # Calculate the discriminator loss using the fake and real image logits
                d_cost = self.d_loss_fn(real_img=real_logits, fake_img=fake_logits)
                # Calculate the gradient penalty
                gp = self.gradient_penalty(batch_size, real_images, fake_images)
                # Add the gradient penalty to the original discriminator loss
                d_loss = d_cost + gp * self.gp_weight
            d_gradient = tape.gradient(d_loss, self.discriminator.trainable_variables)
            self.d_optimizer.apply_gradients(
                zip(d_gradient, self.discriminator.trainable_variables)
            )

        # Train the generator
        random_latent_vectors = self.latent(batch_size)
        with tf.GradientTape() as tape:
            generated_images = self.generator(random_latent_vectors, training=True)
            gen_img_logits = self.discriminator(generated_images, training=True)
            g_loss = self.g_loss_fn(gen_img_logits)
        gen_gradient = tape.gradient(g_loss, self.generator.trainable_variables)
        self.g_optimizer.apply_gradients(zip(gen_gradient, self.generator.trainable_variables))
        return {"d_loss": d_loss, "g_loss": g_loss}


def discriminator_loss(real_img, fake_img):
    real_loss = ops.mean(real_img)
    fake_loss = ops.mean(fake_img)
    return fake_loss - real_loss


def generator_loss(fake_img):
    return -ops.mean(fake_img)


def make_wgan(noise):
    discriminator = keras.Sequential(
        [
            keras.Input(shape=(8, 8, 1)),
            layers.ZeroPadding2D((1, 1)),
            layers.Conv2D(8, (3, 3), strides=(2, 2), padding="same"),
            layers.LeakyReLU(negative_slope=0.2),
            layers.Flatten(),
            layers.Dense(1),
        ],
        name="discriminator",
    )
    generator = keras.Sequential(
        [
            keras.Input(shape=(16,)),
            layers.Dense(4 * 4 * 8, use_bias=False),
            layers.BatchNormalization(),
            layers.LeakyReLU(negative_slope=0.2),
            layers.Reshape((4, 4, 8)),
            layers.UpSampling2D((2, 2)),
            layers.Conv2D(1, (3, 3), padding="same", use_bias=False),
            layers.Activation("tanh"),
            layers.ZeroPadding2D(1),
            layers.Cropping2D((1, 1)),
        ],
        name="generator",
    )
    initialize(discriminator, 1000)
    initialize(generator, 1010)
    return WGAN(discriminator, generator, latent_dim=16, noise=noise)


def wgan_gp():
    wgan = make_wgan(noise=0.0)
    wgan.compile(
        d_optimizer=keras.optimizers.SGD(0.01),
        g_optimizer=keras.optimizers.SGD(0.01),
        g_loss_fn=generator_loss,
        d_loss_fn=discriminator_loss,
    )
    images = values((16, 8, 8, 1), 1020)
    result = wgan.fit(images, batch_size=4, epochs=2, shuffle=False, verbose=0)
    return {"history": history(result)}


# Creating a custom layer with keras API.
output_dim = 16
reg = 0.01


def Coupling(input_shape):
    input = keras.layers.Input(shape=(input_shape,))

    t_layer_1 = keras.layers.Dense(
        output_dim, activation="relu", kernel_regularizer=keras.regularizers.l2(reg)
    )(input)
    t_layer_2 = keras.layers.Dense(
        input_shape, activation="linear", kernel_regularizer=keras.regularizers.l2(reg)
    )(t_layer_1)

    s_layer_1 = keras.layers.Dense(
        output_dim, activation="relu", kernel_regularizer=keras.regularizers.l2(reg)
    )(input)
    s_layer_2 = keras.layers.Dense(
        input_shape, activation="tanh", kernel_regularizer=keras.regularizers.l2(reg)
    )(s_layer_1)
    return keras.Model(inputs=input, outputs=[s_layer_2, t_layer_2])


class RealNVP(keras.Model):
    def __init__(self, num_coupling_layers):
        super().__init__()
        self.num_coupling_layers = num_coupling_layers
        self.masks = np.array(
            [[0, 1], [1, 0]] * (num_coupling_layers // 2), dtype="float32"
        )
        self.loss_tracker = keras.metrics.Mean(name="loss")
        self.layers_list = [Coupling(2) for i in range(num_coupling_layers)]

    @property
    def metrics(self):
        return [self.loss_tracker]

    def call(self, x, training=True):
        log_det_inv = 0
        direction = 1
        if training:
            direction = -1
        for i in range(self.num_coupling_layers)[::direction]:
            x_masked = x * self.masks[i]
            reversed_mask = 1 - self.masks[i]
            s, t = self.layers_list[i](x_masked)
            s *= reversed_mask
            t *= reversed_mask
            gate = (direction - 1) / 2
            x = (
                reversed_mask
                * (x * ops.exp(direction * s) + direction * t * ops.exp(gate * s))
                + x_masked
            )
            log_det_inv += gate * ops.sum(s, axis=1)
        return x, log_det_inv

    # Log likelihood of the normal distribution plus the log determinant of the jacobian.
    def log_loss(self, x):
        y, logdet = self(x)
        log_prob = -0.5 * ops.sum(ops.square(y), axis=1) - float(np.log(2 * np.pi))
        return -ops.mean(log_prob + logdet)

    def train_step(self, data):
        with tf.GradientTape() as tape:
            loss = self.log_loss(data)
        g = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(g, self.trainable_variables))
        self.loss_tracker.update_state(loss)
        return {"loss": self.loss_tracker.result()}

    def test_step(self, data):
        loss = self.log_loss(data)
        self.loss_tracker.update_state(loss)
        return {"loss": self.loss_tracker.result()}


def real_nvp():
    model = RealNVP(num_coupling_layers=4)
    initialize(model, 1030)
    model.compile(optimizer=keras.optimizers.Adam(learning_rate=0.001))
    normalized_data = values((60, 2), 1031)
    result = model.fit(
        normalized_data,
        batch_size=16,
        epochs=3,
        verbose=0,
        validation_split=0.2,
        shuffle=False,
    )
    # From data to latent space, and back.
    z, _ = model(normalized_data)
    x, _ = model(z, training=False)
    return {
        "history": history(result),
        "z": tensor(z[:4]),
        "back": tensor(x[:4]),
        "weights": len(model.weights),
    }


CASES = [wgan_gp, real_nvp]
