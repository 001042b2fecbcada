# SPDX-License-Identifier: Apache-2.0
"""Writes models of one layer each, as real Keras saves them: without quantization, quantized, with a
quantization_config, and with a dtype policy that quantizes."""
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import keras  # noqa: E402
from keras import layers  # noqa: E402
from keras.quantizers import Int8QuantizationConfig  # noqa: E402

folder = pathlib.Path(sys.argv[1])


def dense(**options):
    return keras.Input((4,)), layers.Dense(3, **options)


def einsum_dense(**options):
    return keras.Input((4,)), layers.EinsumDense("ab,bc->ac", (3,), **options)


def embedding(**options):
    return keras.Input((2,), dtype="int32"), layers.Embedding(5, 3, **options)


def reversible_embedding(**options):
    return keras.Input((2,), dtype="int32"), layers.ReversibleEmbedding(5, 3, **options)


for make in [dense, einsum_dense, embedding, reversible_embedding]:
    path = folder / make.__name__
    model = keras.Sequential(make(quantization_config=None))
    model.save(f"{path}.none.keras")
    model.quantize("int8")
    model.save(f"{path}.quantized.keras")
    config = Int8QuantizationConfig()
    keras.Sequential(make(quantization_config=config)).save(f"{path}.config.keras")
    keras.Sequential(make(dtype="int8_from_float32")).save(f"{path}.policy.keras")
