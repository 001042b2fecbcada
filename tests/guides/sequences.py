# SPDX-License-Identifier: Apache-2.0
"""Examples: translation with attention, a gradient penalty for a recurrent critic, training a
model's later layers."""

import keras
import numpy as np
import tensorflow as tf
from guide import history, initialize, labels, number, tensor, values
from keras import layers, ops


class Encoder(layers.Layer):
    def __init__(self, vocab_size, units):
        super().__init__()
        # The embedding layer converts tokens to vectors
        self.embedding = layers.Embedding(vocab_size, units, mask_zero=True)
        # The RNN layer processes those vectors sequentially.
        self.rnn = layers.Bidirectional(
            layer=layers.GRU(units, return_sequences=True), merge_mode="sum"
        )

    def call(self, x):
        return self.rnn(self.embedding(x))


class CrossAttention(layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.mha = layers.MultiHeadAttention(key_dim=units, num_heads=1)
        self.layernorm = layers.LayerNormalization()
        self.add = layers.Add()

    def call(self, x, context):
        attn_output, _ = self.mha(query=x, value=context, return_attention_scores=True)
        return self.layernorm(self.add([x, attn_output]))


class Decoder(layers.Layer):
    def __init__(self, vocab_size, units):
        super().__init__()
        self.embedding = layers.Embedding(vocab_size, units, mask_zero=True)
        self.rnn = layers.GRU(units, return_sequences=True, return_state=True)
        self.attention = CrossAttention(units)
        self.output_layer = layers.Dense(vocab_size)

    def call(self, context, x):
        x, state = self.rnn(self.embedding(x))
        return self.output_layer(self.attention(x, context))


class Translator(keras.Model):
    def __init__(self, units, vocab_size):
        super().__init__()
        self.encoder = Encoder(vocab_size, units)
        self.decoder = Decoder(vocab_size, units)

    def call(self, inputs):
        context, x = inputs
        return self.decoder(self.encoder(context), x)


def masked_loss(y_true, y_pred):
    # Calculate the loss for each item in the batch.
    loss = ops.sparse_categorical_crossentropy(y_true, y_pred, from_logits=True)
    # Mask off the losses on padding.
    mask = ops.cast(y_true != 0, loss.dtype)
    loss *= mask
    # Return the total.
    return ops.sum(loss) / ops.sum(mask)


def masked_acc(y_true, y_pred):
    y_pred = ops.cast(ops.argmax(y_pred, axis=-1), y_true.dtype)
    match = ops.cast(y_true == y_pred, "float32")
    mask = ops.cast(y_true != 0, "float32")
    return ops.sum(match) / ops.sum(mask)


def sentences(seed):
    """Token indices of shape (12, 6), padded with zeros at the end."""
    lengths = labels(12, 5, seed + 1) + 2
    return (labels(72, 19, seed).reshape(12, 6) + 1) * (np.arange(6) < lengths[:, None])


def translation():
    model = Translator(8, 20)
    context, target = sentences(1300), sentences(1310)
    target_in, target_out = target[:, :-1], target[:, 1:]
    model((context, target_in))
    initialize(model, 1320)
    model.compile(
        optimizer=keras.optimizers.SGD(0.5),
        loss=masked_loss,
        metrics=[masked_acc, masked_loss],
    )
    result = model.fit(
        (context, target_in), target_out, batch_size=4, epochs=3, shuffle=False, verbose=0
    )
    return {
        "history": history(result),
        "logits": tensor(model.predict((context, target_in), verbose=0)[:2]),
    }


def penalized_critic():
    critic = keras.Sequential(
        [
            keras.Input(shape=(5, 4)),
            layers.LSTM(6, return_sequences=True),
            layers.LSTM(6),
            layers.Dense(1),
        ]
    )
    initialize(critic, 1330)
    optimizer = keras.optimizers.SGD(0.25)
    losses = []
    for step in range(3):
        series = tf.constant(values((8, 5, 4), 1340 + step))
        with tf.GradientTape() as tape:
            with tf.GradientTape() as gp_tape:
                gp_tape.watch(series)
                pred = critic(series, training=True)
            grads = gp_tape.gradient(pred, series)
            norm = ops.sqrt(ops.sum(ops.square(grads), axis=[1, 2]))
            loss = ops.mean(pred) + 10.0 * ops.mean((norm - 1.0) ** 2)
        gradients = tape.gradient(loss, critic.trainable_variables[:-1])
        optimizer.apply(gradients, critic.trainable_variables[:-1])
        losses.append(number(loss))
    return {"losses": losses, "kernel": tensor(critic.trainable_variables[0])}


def later_layers():
    inputs = keras.Input(shape=(6,), name="inputs")
    first = layers.Dense(5, activation="relu", name="first")(inputs)
    x = layers.BatchNormalization(name="norm")(first)
    x = layers.Dense(5, activation="tanh", name="second")(x)
    x = layers.Add(name="sum")([x, first])
    model = keras.Model(inputs, layers.Dense(1, name="last")(x))
    initialize(model, 1350)
    base = keras.Model(model.input, model.get_layer("first").output)
    head = keras.Model(model.get_layer("first").output, model.output)
    # Features are computed once, and the later layers are trained on them.
    features = base.predict(values((20, 6), 1360), verbose=0)
    head.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse")
    result = head.fit(
        features, values((20, 1), 1361), batch_size=8, epochs=3, shuffle=False, verbose=0
    )
    return {
        "layers": [layer.name for layer in head.layers[1:]],
        "history": history(result),
        "predictions": tensor(model.predict(values((4, 6), 1362), verbose=0)),
    }


CASES = (translation, penalized_critic, later_layers)
