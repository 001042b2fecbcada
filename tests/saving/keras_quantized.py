# SPDX-License-Identifier: Apache-2.0
"""Models that are quantized, from real Keras and back.

`keras_quantized.py FOLDER` writes, for each NAME (of a mode and a model, int8.dense),
NAME.none.keras, NAME.quantized.keras (the same model quantized), NAME.quantized.weights.h5,
NAME.config.keras (with a quantization_config alone), NAME.policy.keras (quantized from the
beginning), and beside each KIND.keras KIND.values.h5 with an input x/0 and the prediction y/0. With a
second argument it reads what Cornu wrote of these instead: each NAME.KIND.back.keras must predict
NAME.KIND.values.h5, and so must the weights of NAME.quantized.back.weights.h5.
"""
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import h5py  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
from keras import layers  # noqa: E402
from keras.quantizers import (  # noqa: E402
    AbsMaxQuantizer,
    Int4QuantizationConfig,
    Int8QuantizationConfig,
)

folder = pathlib.Path(sys.argv[1])
KINDS = ["none", "quantized", "config", "policy"]
INDICES = lambda: keras.Input((2,), dtype="int32")


def one(layer, start=lambda: keras.Input((4,))):
    return lambda **options: keras.Sequential([start(), layer(**options)])


def deep(lora_rank=2, **options):
    """A model with a nested model, in which one layer is adapted by LoRA."""
    inner = keras.Sequential(
        [keras.Input((4,)), layers.Dense(5, activation="relu", **options)], name="inner")
    x = keras.Input((2,), dtype="int32", name="x")
    y = layers.Embedding(7, 4, **options)(x)
    y = layers.EinsumDense("abc,cde->abde", (None, 2, 2), bias_axes="de", **options)(y)
    y = layers.Reshape((2, 4))(y)
    y = layers.GlobalAveragePooling1D()(y)
    return keras.Model(x, layers.Dense(3, lora_rank=lora_rank, **options)(inner(y)))


MODELS = {
    "dense": one(lambda **o: layers.Dense(3, **o)),
    "einsum_dense": one(lambda **o: layers.EinsumDense("ab,bc->ac", (3,), bias_axes="c", **o)),
    "embedding": one(lambda **o: layers.Embedding(5, 3, **o), INDICES),
    "reversible_embedding": one(
        lambda **o: layers.ReversibleEmbedding(5, 3, tie_weights=False, **o), INDICES),
    "deep": deep,
}


CHANNELS = Int4QuantizationConfig(None, AbsMaxQuantizer(), -1)
# The config for quantize, another config, and a dtype policy.
MODES = {
    "int8": (
        Int8QuantizationConfig(),
        Int8QuantizationConfig(None, AbsMaxQuantizer(value_range=(-100, 100))),
        "int8_from_float32",
    ),
    "int4": (Int4QuantizationConfig(block_size=-1), CHANNELS, "int4_from_float32"),
    "blocks": (Int4QuantizationConfig(block_size=3), Int4QuantizationConfig(), "int4/2_from_float32"),
}


def predict(model, x):
    return np.asarray(model(x))


def write(model, name, kind, rng):
    shape = model.input_shape[1:]
    integers = model.inputs[0].dtype == "int32"
    x = rng.integers(0, 5, (6, *shape)).astype("int32") if integers else rng.normal(size=(6, *shape))
    model.save(folder / f"{name}.{kind}.keras")
    with h5py.File(folder / f"{name}.{kind}.values.h5", "w") as values:
        values["x/0"] = x if integers else x.astype("float32")
        values["y/0"] = predict(model, x)


def make(mode, name, build):
    quantization, config, policy = MODES[mode]
    name = f"{mode}.{name}"
    # Files have the sum with LoRA's product, quantized again, which differs for blocks.
    options = {"lora_rank": None} if mode == "blocks" else {}
    model = build(quantization_config=None, **options)
    for weight in model.trainable_weights:
        if "lora_kernel_b" in weight.name:  # its sum with the kernel isn't in files
            continue
        weight.assign(np.random.default_rng(1).normal(size=weight.shape))
    write(model, name, "none", np.random.default_rng(2))
    model.quantize(config=quantization)
    write(model, name, "quantized", np.random.default_rng(2))
    model.save_weights(folder / f"{name}.quantized.weights.h5")
    write(build(quantization_config=config, **options), name, "config", np.random.default_rng(2))
    write(build(dtype=policy, **options), name, "policy", np.random.default_rng(2))


def check(name, kind):
    model = keras.models.load_model(folder / f"{name}.{kind}.back.keras")
    with h5py.File(folder / f"{name}.{kind}.values.h5") as values:
        x, expected = values["x/0"][()], values["y/0"][()]
    np.testing.assert_allclose(predict(model, x), expected, rtol=1e-4, atol=1e-5)
    if kind == "quantized":
        model = keras.models.load_model(folder / f"{name}.quantized.keras")
        for weight in model.weights:
            if weight.name != "g_idx":
                weight.assign(weight * 0)
        model.load_weights(folder / f"{name}.quantized.back.weights.h5")
        np.testing.assert_allclose(predict(model, x), expected, rtol=1e-4, atol=1e-5)


for mode in MODES:
    for name, build in MODELS.items():
        if len(sys.argv) == 2:
            make(mode, name, build)
        else:
            for kind in KINDS:
                check(f"{mode}.{name}", kind)
