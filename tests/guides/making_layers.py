# SPDX-License-Identifier: Apache-2.0
"""Guide: making new layers and models via subclassing."""

import keras
from guide import history, initialize, number, positive, tensor, values
from keras import layers, ops


class Linear(keras.layers.Layer):
    def __init__(self, units=32, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def build(self, input_shape):
        self.w = self.add_weight(
            shape=(input_shape[-1], self.units),
            initializer="random_normal",
            trainable=True,
        )
        self.b = self.add_weight(
            shape=(self.units,), initializer="random_normal", trainable=True
        )

    def call(self, inputs):
        return ops.matmul(inputs, self.w) + self.b

    def get_config(self):
        config = super().get_config()
        config.update({"units": self.units})
        return config


class ComputeSum(keras.layers.Layer):
    def __init__(self, input_dim):
        super().__init__()
        self.total = self.add_weight(
            initializer="zeros", shape=(input_dim,), trainable=False
        )

    def call(self, inputs):
        self.total.assign_add(ops.sum(inputs, axis=0))
        return self.total


class MLPBlock(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.linear_1 = Linear(32)
        self.linear_2 = Linear(32)
        self.linear_3 = Linear(1)

    def call(self, inputs):
        x = self.linear_1(inputs)
        x = keras.activations.relu(x)
        x = self.linear_2(x)
        x = keras.activations.relu(x)
        return self.linear_3(x)


def layers_linear():
    x = ops.ones((2, 2))
    linear_layer = Linear(4)
    linear_layer(x)
    initialize(linear_layer, 100)
    return {
        "y": tensor(linear_layer(x)),
        "weights": len(linear_layer.weights),
        "config": [*linear_layer.get_config()],
    }


def layers_sum():
    my_sum = ComputeSum(2)
    x = ops.ones((2, 2))
    first = tensor(my_sum(x))
    second = tensor(my_sum(x))
    return {
        "first": first,
        "second": second,
        "weights": [len(my_sum.weights), len(my_sum.non_trainable_weights)],
        "trainable": len(my_sum.trainable_weights),
    }


def layers_block():
    mlp = MLPBlock()
    mlp(ops.ones(shape=(3, 64)))
    initialize(mlp, 110)
    return {
        "weights": [len(mlp.weights), len(mlp.trainable_weights)],
        "y": tensor(mlp(values((3, 64), 111))),
    }


class ActivityRegularizationLayer(keras.layers.Layer):
    def __init__(self, rate=1e-2):
        super().__init__()
        self.rate = rate

    def call(self, inputs):
        self.add_loss(self.rate * ops.mean(inputs))
        return inputs


class OuterLayer(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.activity_reg = ActivityRegularizationLayer(1e-2)

    def call(self, inputs):
        return self.activity_reg(inputs)


class OuterLayerWithKernelRegularizer(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(32, kernel_regularizer=keras.regularizers.l2(1e-3))

    def call(self, inputs):
        return self.dense(inputs)


def layers_losses():
    layer = OuterLayer()
    counts = [len(layer.losses)]
    layer(values((1, 4), 120))
    counts.append(len(layer.losses))
    layer(values((1, 4), 121))
    counts.append(len(layer.losses))
    activity = number(layer.losses[0])

    layer = OuterLayerWithKernelRegularizer()
    layer(ops.zeros((1, 8)))
    initialize(layer, 122)
    kernel = number(layer.losses[0])

    inputs = keras.Input(shape=(3,))
    outputs = ActivityRegularizationLayer()(inputs)
    x, y = positive((2, 3), 123), positive((2, 3), 124)
    # If there is a loss passed in `compile`, the regularization losses get added to it
    model = keras.Model(inputs, outputs)
    model.compile(optimizer="adam", loss="mse")
    both = model.fit(x, y, verbose=0)
    # It's also possible not to pass any loss in `compile`, since the model already has a loss to
    # minimize, via the `add_loss` call during the forward pass!
    model = keras.Model(inputs, outputs)
    model.compile(optimizer="adam")
    alone = model.fit(x, y, verbose=0)
    return {
        "counts": counts,
        "activity": activity,
        "kernel": kernel,
        "both": history(both),
        "alone": history(alone),
    }


class CustomDropout(keras.layers.Layer):
    def __init__(self, rate, **kwargs):
        super().__init__(**kwargs)
        self.rate = rate
        self.seed_generator = keras.random.SeedGenerator(1337)

    def call(self, inputs, training=None):
        if training:
            return keras.random.dropout(inputs, rate=self.rate, seed=self.seed_generator)
        return inputs


def layers_dropout():
    layer = CustomDropout(0.5)
    x = ops.ones((4, 100))
    dropped = layer(x, training=True)
    again = layer(x, training=True)
    return {
        "inference": bool(ops.all(ops.equal(layer(x), x))),
        "weights": len(layer.weights),
        "variables": len(layer.variables),
        "values": sorted({float(v) for v in ops.convert_to_numpy(dropped).ravel()}),
        "differ": bool(ops.any(ops.not_equal(dropped, again))),
    }


class Sampling(layers.Layer):
    """Uses (z_mean, z_log_var) to sample z, the vector encoding a digit."""

    def __init__(self, noise=1.0, **kwargs):
        super().__init__(**kwargs)
        self.noise = noise
        self.seed_generator = keras.random.SeedGenerator(1337)

    def call(self, inputs):
        z_mean, z_log_var = inputs
        epsilon = keras.random.normal(shape=ops.shape(z_mean), seed=self.seed_generator)
        return z_mean + ops.exp(0.5 * z_log_var) * epsilon * self.noise


class Encoder(layers.Layer):
    """Maps MNIST digits to a triplet (z_mean, z_log_var, z)."""

    def __init__(self, latent_dim=32, intermediate_dim=64, noise=1.0, name="encoder", **kwargs):
        super().__init__(name=name, **kwargs)
        self.dense_proj = layers.Dense(intermediate_dim, activation="relu")
        self.dense_mean = layers.Dense(latent_dim)
        self.dense_log_var = layers.Dense(latent_dim)
        self.sampling = Sampling(noise)

    def call(self, inputs):
        x = self.dense_proj(inputs)
        z_mean = self.dense_mean(x)
        z_log_var = self.dense_log_var(x)
        z = self.sampling((z_mean, z_log_var))
        return z_mean, z_log_var, z


class Decoder(layers.Layer):
    """Converts z, the encoded digit vector, back into a readable digit."""

    def __init__(self, original_dim, intermediate_dim=64, name="decoder", **kwargs):
        super().__init__(name=name, **kwargs)
        self.dense_proj = layers.Dense(intermediate_dim, activation="relu")
        self.dense_output = layers.Dense(original_dim, activation="sigmoid")

    def call(self, inputs):
        x = self.dense_proj(inputs)
        return self.dense_output(x)


class VariationalAutoEncoder(keras.Model):
    """Combines the encoder and decoder into an end-to-end model for training."""

    def __init__(
        self,
        original_dim,
        intermediate_dim=64,
        latent_dim=32,
        noise=1.0,
        name="autoencoder",
        **kwargs,
    ):
        super().__init__(name=name, **kwargs)
        self.original_dim = original_dim
        self.encoder = Encoder(
            latent_dim=latent_dim, intermediate_dim=intermediate_dim, noise=noise
        )
        self.decoder = Decoder(original_dim, intermediate_dim=intermediate_dim)

    def call(self, inputs):
        z_mean, z_log_var, z = self.encoder(inputs)
        reconstructed = self.decoder(z)
        # Add KL divergence regularization loss.
        kl_loss = -0.5 * ops.mean(
            z_log_var - ops.square(z_mean) - ops.exp(z_log_var) + 1
        )
        self.add_loss(kl_loss)
        return reconstructed


def layers_vae():
    x_train = positive((48, 784), 131)
    vae = VariationalAutoEncoder(784, 64, 32, noise=0.0)
    vae(x_train[:1])
    initialize(vae, 130)
    optimizer = keras.optimizers.Adam(learning_rate=1e-3)
    vae.compile(optimizer, loss=keras.losses.MeanSquaredError())
    result = vae.fit(x_train, x_train, epochs=2, batch_size=16, shuffle=False, verbose=0)
    return {"history": history(result), "paths": [weight.path for weight in vae.weights]}


CASES = [
    layers_linear,
    layers_sum,
    layers_block,
    layers_losses,
    layers_dropout,
    layers_vae,
]
