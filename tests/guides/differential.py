# SPDX-License-Identifier: Apache-2.0
"""Not from a guide: many kinds of layers together, and weights of nested subclassed models."""

from guide import common, history, initialize, labels, positive, tensor, values
import golden_files
import keras
from keras import layers

FILES = common.DATA / "guides"  # written by Keras, read by Cornu


def all_at_once():
    image = keras.Input((12, 12, 3), name="image")
    words = keras.Input((6,), dtype="int32", name="words")
    x = layers.Rescaling(2.0, offset=-1.0)(image)
    x = layers.SeparableConv2D(6, 3, padding="same")(x)
    x = layers.BatchNormalization()(x)
    x = layers.LeakyReLU(negative_slope=0.1)(x)
    x = layers.MaxPooling2D()(x)
    shortcut = x
    x = layers.DepthwiseConv2D(3, padding="same", activation="relu")(x)
    x = layers.Add()([x, shortcut])
    x = layers.Conv2DTranspose(4, 3, strides=2)(x)
    x = layers.GlobalAveragePooling2D()(x)
    y = layers.Embedding(20, 5, mask_zero=True)(words)
    y = layers.GlobalAveragePooling1D()(y)
    y = layers.LayerNormalization()(y)
    z = layers.Concatenate()([x, y])
    z = layers.Dense(8, activation="elu", kernel_regularizer="l2")(z)
    a = layers.Dense(3, name="a")(z)
    b = layers.Dense(1, activation="sigmoid", name="b")(z)
    model = keras.Model([image, words], [a, b])
    initialize(model, 1300)
    model.compile(
        optimizer=keras.optimizers.AdamW(
            keras.optimizers.schedules.CosineDecay(1e-3, 50), clipnorm=1.0, use_ema=True
        ),
        loss={
            "a": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            "b": "binary_crossentropy",
        },
        loss_weights={"a": 1.0, "b": 0.5},
        metrics={"a": ["accuracy"], "b": ["mae"]},
        weighted_metrics={"a": ["accuracy"], "b": ["mse"]},
    )
    x = {"image": positive((30, 12, 12, 3), 1301), "words": labels(180, 20, 1302).reshape(30, 6)}
    y = {"a": labels(30, 3, 1303), "b": positive((30, 1), 1304)}
    weight = positive((30,), 1305)
    result = model.fit(
        x,
        [y["a"], y["b"]],
        sample_weight=[weight, weight],
        batch_size=12,
        epochs=3,
        validation_data=(x, [y["a"], y["b"]]),
        shuffle=False,
        verbose=0,
    )
    a, b = model.predict(x, verbose=0)
    return {"history": history(result), "a": tensor(a[:3]), "b": tensor(b[:3])}


class Block(layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.units = units
        self.hidden = layers.Dense(units, activation="relu")
        self.norm = layers.LayerNormalization()

    def build(self, input_shape):
        self.gain = self.add_weight(shape=(self.units,), initializer="ones", name="gain")

    def call(self, x):
        return self.gain * self.norm(self.hidden(x))


class Nested(keras.Model):
    def __init__(self):
        super().__init__()
        self.blocks = [Block(6), Block(6)]
        self.stem = layers.Dense(6)
        self.head = keras.Sequential([layers.Dense(4), layers.Dense(2)])

    def call(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = x + block(x)
        return self.head(x)


def nested_weights():
    model = Nested()
    x = values((3, 5), 1321)
    model(x)
    initialize(model, 1320)
    FILES.mkdir(exist_ok=True)
    with golden_files.reproducible():
        model.save_weights(FILES / "nested.weights.h5")
    return {
        "paths": [weight.path for weight in model.weights],
        "y": tensor(model(x)),
    }


def mask_zero():
    """A file as written by Keras, with a mask that passes through the graph."""
    words = keras.Input((6,), dtype="int32", name="words")
    x = layers.Embedding(20, 5, mask_zero=True)(words)
    x = layers.GlobalAveragePooling1D()(x)
    model = keras.Model(words, layers.Dense(2)(x))
    initialize(model, 1330)
    FILES.mkdir(exist_ok=True)
    with golden_files.reproducible():
        model.save(FILES / "mask_zero.keras")
    return {"y": tensor(model(labels(24, 20, 1331).reshape(4, 6)))}


def named_heads():
    """Heads of equal shape: only predictions show which one a file's weights belong to."""
    inputs = keras.Input((4,))
    zeta = layers.Dense(2, name="zeta")(inputs)
    alpha = layers.Dense(2, name="alpha")(inputs)
    model = keras.Model(inputs, {"zeta": zeta, "alpha": alpha})
    initialize(model, 1340)
    FILES.mkdir(exist_ok=True)
    with golden_files.reproducible():
        model.save(FILES / "named_heads.keras")
        model.save_weights(FILES / "named_heads.weights.h5")
    y = model(values((2, 4), 1341))
    return {
        "paths": [weight.path for weight in model.weights],
        "zeta": tensor(y["zeta"]),
        "alpha": tensor(y["alpha"]),
    }


CASES = [all_at_once, nested_weights, mask_zero, named_heads]
