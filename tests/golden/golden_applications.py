# SPDX-License-Identifier: Apache-2.0
"""Models of keras.applications: their layers, shapes and parameters."""

import common
import keras

MOBILENET_V2 = [
    {},
    {"alpha": 0.35, "classes": 7, "classifier_activation": None},
    {"alpha": 1.4, "input_shape": [96, 128, 3]},
    {"alpha": 0.5, "include_top": False, "input_shape": [160, 160, 3]},
    {"alpha": 0.75, "include_top": False, "pooling": "avg"},
    {"alpha": 1.3, "include_top": False, "pooling": "max", "input_shape": [33, 47, 3]},
    {"alpha": 0.1, "include_top": False, "input_shape": [32, 32, 1], "name": "small"},
]


def run(number, arguments):
    common.start(f"mobilenet_v2_{number}")
    keywords = dict(arguments)
    if "input_shape" in keywords:
        keywords["input_shape"] = tuple(keywords["input_shape"])
    model = keras.applications.MobileNetV2(weights=None, **keywords)
    return {
        "name": f"mobilenet_v2_{number}",
        "arguments": arguments,
        "model": model.name,
        "input_shape": model.input_shape,
        "output_shape": model.output_shape,
        "parameters": model.count_params(),
        "layers": [[type(layer).__name__, layer.name] for layer in model.layers],
        "weights": [[weight.path, list(weight.shape), weight.trainable]
                    for weight in model.weights],
    }


def make():
    return [run(number, arguments) for number, arguments in enumerate(MOBILENET_V2)]
