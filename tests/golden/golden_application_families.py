# SPDX-License-Identifier: Apache-2.0
"""Families of keras.applications: a digest of each model's layers and weights."""

import re
import zlib

import common
import keras

MODELS = [
    "ResNet50", "ResNet101", "ResNet152", "ResNet50V2", "ResNet101V2", "ResNet152V2", "VGG16",
    "VGG19", "DenseNet121", "DenseNet169", "DenseNet201", "Xception",
    "InceptionV3", "EfficientNetB0", "EfficientNetB1", "MobileNet", "MobileNetV3Small",
    "MobileNetV3Large", "EfficientNetV2B0", "EfficientNetV2B3", "EfficientNetV2S",
    "EfficientNetV2M", "EfficientNetV2L", "ConvNeXtTiny", "ConvNeXtBase", "InceptionResNetV2",
    "NASNetMobile", "NASNetLarge",
]
LARGE = {"EfficientNetV2M", "EfficientNetV2L", "ConvNeXtBase", "NASNetLarge"}  # one variant is enough
VARIANTS = [
    {},
    {"include_top": False, "pooling": "avg"},
    {"include_top": False, "pooling": "max", "input_shape": [75, 91, 3], "name": "other"},
    {"classes": 7, "classifier_activation": None, "input_shape": [96, 80, 1]},
]


def digest(lines):
    return zlib.crc32("\n".join(lines).encode())


def run(number, function, arguments):
    if function.startswith("EfficientNetV2"):  # their name selects the model
        arguments = {key: value for key, value in arguments.items() if key != "name"}
    name = f"{function}_{number}"
    common.start(name)
    keywords = dict(arguments)
    if "input_shape" in keywords:
        keywords["input_shape"] = tuple(keywords["input_shape"])
    model = getattr(keras.applications, function)(weights=None, **keywords)
    layers = [f"{type(layer).__name__} {layer.name} {tuple(layer.output.shape)} "
              f"{layer.count_params()}" for layer in model.layers]
    # The only weights without a name are LayerScale's, which Keras numbers consecutively.
    weights = [f"{re.sub('/variable(_[0-9]+)?$', '/gamma', weight.path)} {tuple(weight.shape)} "
               f"{int(weight.trainable)}" for weight in model.weights]
    return {
        "name": name,
        "function": function,
        "arguments": arguments,
        "model": model.name,
        "output_shape": model.output_shape,
        "parameters": model.count_params(),
        "layers": [len(layers), digest(layers)],
        "weights": [len(weights), digest(weights)],
    }


def make():
    return [run(number, function, arguments)
            for function in MODELS for number, arguments in enumerate(VARIANTS)
            if function not in LARGE or number == 1]
