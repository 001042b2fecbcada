# SPDX-License-Identifier: Apache-2.0
"""Guide: transfer learning and fine-tuning."""

import tempfile

import keras
import numpy as np
from guide import history, initialize, labels, logs, tensor, values
from keras import layers


def transfer_trainable():
    layer = keras.layers.BatchNormalization()
    layer.build((None, 4))
    counts = [len(layer.weights), len(layer.trainable_weights), len(layer.non_trainable_weights)]

    # Make a model with 2 layers
    layer1 = keras.layers.Dense(3, activation="relu")
    layer2 = keras.layers.Dense(3, activation="sigmoid")
    model = keras.Sequential([keras.Input(shape=(3,)), layer1, layer2])
    initialize(model, 600)
    # Freeze the first layer
    layer1.trainable = False
    # Keep a copy of the weights of layer1 for later reference
    initial_layer1_weights_values = layer1.get_weights()
    # Train the model
    model.compile(optimizer="adam", loss="mse")
    model.fit(values((2, 3), 601), values((2, 3), 602), verbose=0)
    # Check that the weights of layer1 have not changed during training
    same = all(
        bool(np.array_equal(a, b))
        for a, b in zip(initial_layer1_weights_values, layer1.get_weights())
    )

    inner_model = keras.Sequential(
        [
            keras.Input(shape=(3,)),
            keras.layers.Dense(3, activation="relu"),
            keras.layers.Dense(3, activation="relu"),
        ]
    )
    outer = keras.Sequential(
        [keras.Input(shape=(3,)), inner_model, keras.layers.Dense(3, activation="sigmoid")]
    )
    outer.trainable = False  # Freeze the outer model
    return {
        "counts": counts,
        "same": same,
        "recursive": [inner_model.trainable, inner_model.layers[0].trainable],
    }


def make_base_model():
    inputs = keras.Input(shape=(16, 16, 3))
    x = layers.Conv2D(8, 3, use_bias=False, padding="same")(inputs)
    x = layers.BatchNormalization()(x)
    x = layers.Activation("relu")(x)
    x = layers.SeparableConv2D(8, 3, padding="same")(x)
    x = layers.BatchNormalization()(x)
    outputs = layers.Activation("relu")(x)
    return keras.Model(inputs, outputs, name="base")


class Inference(layers.Layer):
    """Does what `base_model(x, training=False)` does in the guide.

    In a functional model, Keras 3.15 replaces that `training` with fit's; in a layer's call, it is
    kept.
    """

    def __init__(self, model):
        super().__init__()
        self.model = model

    def call(self, x):
        return self.model(x, training=False)


def transfer_workflow():
    base_model = make_base_model()
    initialize(base_model, 610)
    # Freeze the base_model
    base_model.trainable = False

    # Create new model on top
    inputs = keras.Input(shape=(16, 16, 3))
    # Pre-trained weights require that input be scaled from (0, 255) to (-1., +1.).
    scale_layer = keras.layers.Rescaling(scale=1 / 127.5, offset=-1)
    x = scale_layer(inputs)
    # The base model contains batchnorm layers. We want to keep them in inference mode when we
    # unfreeze the base model for fine-tuning, so we run it with training=False.
    x = Inference(base_model)(x)
    x = keras.layers.GlobalAveragePooling2D()(x)
    x = keras.layers.Dropout(0.0)(x)
    outputs = keras.layers.Dense(1)(x)
    model = keras.Model(inputs, outputs)
    initialize(model.layers[-1], 611)
    counts = [len(model.trainable_weights), len(model.non_trainable_weights)]

    x = np.round((values((24, 16, 16, 3), 612) + np.float32(1)) * np.float32(127.5))
    y = labels(24, 2, 613).astype("float32")[:, None]
    model.compile(
        optimizer=keras.optimizers.Adam(),
        loss=keras.losses.BinaryCrossentropy(from_logits=True),
        metrics=[keras.metrics.BinaryAccuracy()],
    )
    frozen = model.fit(x, y, epochs=2, batch_size=8, shuffle=False, verbose=0)

    # Unfreeze the base_model. Note that it keeps running in inference mode.
    base_model.trainable = True
    counts += [len(model.trainable_weights), len(model.non_trainable_weights)]
    model.compile(
        optimizer=keras.optimizers.SGD(1e-3),  # Low learning rate
        loss=keras.losses.BinaryCrossentropy(from_logits=True),
        metrics=[keras.metrics.BinaryAccuracy()],
    )
    tuned = model.fit(x, y, epochs=2, batch_size=8, shuffle=False, verbose=0)
    return {
        "counts": counts,
        "frozen": history(frozen),
        "tuned": history(tuned),
        "evaluate": logs(model.evaluate(x, y, verbose=0, return_dict=True)),
        "predictions": tensor(model.predict(x[:4], verbose=0)),
    }


def make_backbone():
    inputs = keras.Input(shape=(5,), dtype="int32")
    x = layers.Embedding(11, 6)(inputs)
    for i in range(2):
        attention = layers.MultiHeadAttention(num_heads=2, key_dim=3, name=f"attention_{i}")
        x = layers.LayerNormalization()(x + attention(x, x))
    x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(inputs, layers.Dense(2)(x), name="backbone")


def enable_lora(backbone, rank):
    for layer in backbone.layers:
        layer.trainable = False
    for layer in backbone._flatten_layers():
        if layer.name in ("query", "value"):
            layer.trainable = True
            layer.enable_lora(rank)


def transfer_lora():
    folder = tempfile.TemporaryDirectory()
    path = folder.name + "/backbone.keras"
    pretrained = make_backbone()
    initialize(pretrained, 620)
    pretrained.save(path)

    model = keras.saving.load_model(path)
    enable_lora(model, rank=2)
    classes = [type(layer).__name__ for layer in model._flatten_layers()]
    trained = [variable.path for variable in model.trainable_variables]
    for i, variable in enumerate(model.trainable_variables):
        if variable.name.endswith("_a"):
            variable.assign(values(variable.shape, 630 + i))
    x, y = labels(24 * 5, 11, 621).reshape(24, 5), values((24, 2), 622)
    model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse")
    result = model.fit(x, y, batch_size=8, epochs=3, shuffle=False, verbose=0)
    predictions = model.predict(x[:4], verbose=0)

    # Files contain the sums, for models with and without LoRA.
    model.save_weights(folder.name + "/tuned.weights.h5")
    merged = keras.saving.load_model(path)
    merged.load_weights(folder.name + "/tuned.weights.h5")
    config = model.get_layer("attention_0").query_dense.get_config()
    return {
        "classes": classes,
        "trained": trained,
        "history": history(result),
        "predictions": tensor(predictions),
        "merged": tensor(merged.predict(x[:4], verbose=0)),
        "kernel": tensor(merged.get_layer("attention_1").query_dense.kernel),
        "rank": config["lora_rank"],
    }


CASES = [transfer_trainable, transfer_workflow, transfer_lora]
