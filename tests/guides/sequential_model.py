# SPDX-License-Identifier: Apache-2.0
"""Guide: the Sequential model."""

import keras
from guide import initialize, summary, tensor, values
from keras import layers, ops


def sequential_layers():
    model = keras.Sequential(
        [
            layers.Dense(2, activation="relu", name="layer1"),
            layers.Dense(3, activation="relu", name="layer2"),
            layers.Dense(4, name="layer3"),
        ]
    )
    before = len(model.weights)
    x = ops.ones((3, 3))
    model(x)
    initialize(model, 1)
    figures = {"weights": [before, len(model.weights)], "y": tensor(model(x))}
    figures["paths"] = [weight.path for weight in model.weights]

    same = model.layers[2](model.layers[1](model.layers[0](x)))
    figures["same"] = bool(ops.all(ops.equal(same, model(x))))
    model.pop()
    return figures | {"after_pop": len(model.layers), "popped": tensor(model(x))}


def sequential_with_input():
    model = keras.Sequential(name="my_sequential")
    model.add(keras.Input(shape=(4,)))
    model.add(layers.Dense(2, activation="relu", name="layer1"))
    built = summary(model)
    model.add(layers.Dense(3, activation="relu", name="layer2"))
    model.add(layers.Dense(4, name="layer3"))
    return {"first": built, "whole": summary(model)}


def sequential_convolutions():
    model = keras.Sequential()
    model.add(keras.Input(shape=(250, 250, 3)))  # 250x250 RGB images
    model.add(layers.Conv2D(32, 5, strides=2, activation="relu"))
    model.add(layers.Conv2D(32, 3, activation="relu"))
    model.add(layers.MaxPooling2D(3))
    first = summary(model)
    model.add(layers.Conv2D(32, 3, activation="relu"))
    model.add(layers.Conv2D(32, 3, activation="relu"))
    model.add(layers.MaxPooling2D(3))
    model.add(layers.Conv2D(32, 3, activation="relu"))
    model.add(layers.Conv2D(32, 3, activation="relu"))
    model.add(layers.MaxPooling2D(2))
    second = summary(model)
    model.add(layers.GlobalMaxPooling2D())
    model.add(layers.Dense(10))
    return {"first": first, "second": second, "whole": summary(model)}


def sequential_features():
    initial_model = keras.Sequential(
        [
            keras.Input(shape=(30, 30, 3)),
            layers.Conv2D(8, 5, strides=2, activation="relu"),
            layers.Conv2D(8, 3, activation="relu", name="my_intermediate_layer"),
            layers.Conv2D(8, 3, activation="relu"),
        ]
    )
    initialize(initial_model, 2)
    x = values((1, 30, 30, 3), 3)
    feature_extractor = keras.Model(
        inputs=initial_model.inputs,
        outputs=[layer.output for layer in initial_model.layers],
    )
    features = feature_extractor(x)

    one = keras.Model(
        inputs=initial_model.inputs,
        outputs=initial_model.get_layer(name="my_intermediate_layer").output,
    )
    return {
        "shapes": [list(feature.shape) for feature in features],
        "sums": [float(ops.sum(feature)) for feature in features],
        "one": float(ops.sum(one(x))),
    }


def sequential_freezing():
    model = keras.Sequential(
        [
            keras.Input(shape=(784,)),
            layers.Dense(32, activation="relu"),
            layers.Dense(32, activation="relu"),
            layers.Dense(32, activation="relu"),
            layers.Dense(10),
        ]
    )
    for layer in model.layers[:-1]:
        layer.trainable = False
    return {
        "trainable": [weight.path for weight in model.trainable_weights],
        "summary": summary(model, show_trainable=True),
    }


CASES = [
    sequential_layers,
    sequential_with_input,
    sequential_convolutions,
    sequential_features,
    sequential_freezing,
]
