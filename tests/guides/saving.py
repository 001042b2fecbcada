# SPDX-License-Identifier: Apache-2.0
"""Guide: save, serialize and export models."""

import json

import keras
from guide import initialize, tensor, values
from keras import ops


def get_model():
    inputs = keras.Input(shape=(32,))
    outputs = keras.layers.Dense(1)(inputs)
    model = keras.Model(inputs, outputs)
    initialize(model, 700)
    model.compile(optimizer=keras.optimizers.Adam(), loss="mean_squared_error")
    return model


@keras.saving.register_keras_serializable(package="MyLayers")
class CustomLayer(keras.layers.Layer):
    def __init__(self, factor, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor

    def call(self, x):
        return x * self.factor

    def get_config(self):
        config = super().get_config()
        config.update({"factor": self.factor})
        return config


def saving_configs():
    layer = keras.layers.Dense(3, activation="relu")
    layer_config = layer.get_config()
    new_layer = keras.layers.Dense.from_config(layer_config)

    model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(1)])
    config = model.get_config()
    new_model = keras.Sequential.from_config(config)

    json_model = get_model()
    json_config = json_model.to_json()
    from_json = keras.models.model_from_json(json_config)
    serialized = keras.layers.serialize(layer)
    custom = keras.layers.serialize(CustomLayer(3.0, name="triple"))
    custom["config"].pop("dtype")
    return {
        "layer": [new_layer.units, new_layer.activation.__name__],
        "sequential": [layer["class_name"] for layer in config["layers"]],
        "same_layers": [layer.name for layer in new_model.layers]
        == [layer.name for layer in model.layers],
        "model_class": json.loads(json_config)["class_name"],
        "weights": [list(weight.shape) for weight in from_json.weights],
        "serialized": [serialized["module"], serialized["class_name"]],
        "custom": [custom["class_name"], custom["registered_name"], custom["config"]["factor"]],
    }


def saving_cloning():
    model = get_model()
    new_model = keras.models.clone_model(model)
    x = values((2, 32), 701)
    differ = bool(ops.any(ops.not_equal(model(x), new_model(x))))
    new_model.set_weights(model.get_weights())
    return {"differ": differ, "y": tensor(new_model(x))}


def saving_weights_by_layer():
    # Create a simple functional model
    inputs = keras.Input(shape=(784,), name="digits")
    x = keras.layers.Dense(64, activation="relu", name="dense_1")(inputs)
    x = keras.layers.Dense(64, activation="relu", name="dense_2")(x)
    outputs = keras.layers.Dense(10, name="predictions")(x)
    functional_model = keras.Model(inputs=inputs, outputs=outputs, name="3_layer_mlp")
    initialize(functional_model, 710)

    # Extract a portion of the functional model defined in the Setup section.
    # The following lines produce a new model that excludes the final output layer.
    pretrained = keras.Model(
        functional_model.inputs, functional_model.layers[-1].input, name="pretrained_model"
    )
    # Randomly assign "trained" weights.
    for w in pretrained.weights:
        w.assign(values(tuple(w.shape), 711, 0.1))
    # Take pretrained as the base of a new model.
    outputs = keras.layers.Dense(5, name="predictions")(pretrained.outputs[0])
    model = keras.Model(inputs=pretrained.inputs, outputs=outputs, name="new_model")
    initialize(model.layers[-1], 712)
    return {
        "names": [layer.name for layer in model.layers],
        "y": tensor(model(values((2, 784), 713))),
    }


CASES = [saving_configs, saving_cloning, saving_weights_by_layer]
