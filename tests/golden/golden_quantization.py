# SPDX-License-Identifier: Apache-2.0
"""Layers of int8 weights: those with a dtype policy of int8, for golden_layers.py; and layers that
are quantized when they have weights. Keras fails for an EinsumDense whose equation has "..."."""

import common
import numpy as np
import tensorflow as tf
from keras import layers, quantizers, regularizers
from keras.quantizers import AbsMaxQuantizer, Int8QuantizationConfig

INT8 = "int8_from_float32"
INDICES = np.array([[0, 4, 2], [2, 2, 1]], "int32")


def weights_alone():
    return Int8QuantizationConfig(activation_quantizer=None)


def cases(case):
    """Values, gradients and configs of layers that are int8 from the beginning."""
    dense = lambda **options: lambda: layers.Dense(5, dtype=INT8, **options)
    einsum = lambda equation, shape, **options: lambda: layers.EinsumDense(
        equation, shape, dtype=INT8, **options)
    made = {
        "dense": (dense(activation="tanh"), (3, 6)),
        "dense_no_bias_3d": (dense(use_bias=False), (2, 3, 4)),
        "dense_weights_alone": (dense(quantization_config=weights_alone()), (3, 6)),
        "dense_config": (
            dense(
                quantization_config=Int8QuantizationConfig(
                    AbsMaxQuantizer(axis=0, epsilon=0.01),
                    AbsMaxQuantizer(axis=-1, value_range=(-64, 63)),
                )
            ),
            (2, 4),
        ),
        "dense_lora": (dense(lora_rank=2, kernel_regularizer=regularizers.L2(0.1)), (3, 6)),
        "einsum_dense": (einsum("ab,bc->ac", 5, bias_axes="c"), (3, 4)),
        "einsum_dense_heads": (einsum("abc,cde->abde", (None, 2, 3), bias_axes="de"), (2, 3, 5)),
        "einsum_dense_of_heads": (einsum("abcd,cde->abe", (None, 5), bias_axes="e"), (2, 3, 2, 4)),
        "einsum_dense_turned": (einsum("abc,edc->abed", (None, 3, 2)), (2, 4, 5)),
        "einsum_dense_shared": (einsum("abc,bcd->abd", (3, 4), bias_axes="bd"), (2, 3, 5)),
        "einsum_dense_lora": (einsum("abc,cde->abde", (None, 2, 3), lora_rank=2, lora_alpha=3),
                              (2, 3, 5)),
        "einsum_dense_weights_alone": (
            einsum("abc,cd->abd", (None, 4), quantization_config=weights_alone()), (2, 3, 5)),
        "embedding": (lambda: layers.Embedding(5, 3, dtype=INT8, mask_zero=True), INDICES),
        "embedding_lora": (lambda: layers.Embedding(5, 3, dtype=INT8, lora_rank=2), INDICES),
        "reversible_embedding": (
            lambda: layers.ReversibleEmbedding(5, 3, dtype=INT8, tie_weights=False), INDICES),
    }
    for name, (layer, x) in made.items():
        yield case(f"int8_{name}", layer, x)


def run(name, make_layer, inputs, config=None, lora=None, settings=None):
    """lora: enable_lora's arguments, after quantize."""
    rng = common.start(name)
    layer = make_layer()
    before_object = common.serialize(layer)
    x = inputs if isinstance(inputs, np.ndarray) else common.normal(rng, inputs)
    layer.build(x.shape)
    for weight in layer.weights:
        weight.assign(common.normal(rng, weight.shape, 0.5))
    before = [common.variable(weight) for weight in layer.weights]
    layer.quantize("int8", config=config)
    after = [common.variable(weight) for weight in layer.weights]
    if lora:
        layer.enable_lora(**lora)
        for weight in layer.weights:
            if "lora" in weight.name:
                weight.assign(common.normal(rng, weight.shape, 0.5))
    output = layer(tf.constant(x), **(settings or {}))
    saved = {}
    layer.save_own_variables(saved)
    return {
        "name": name,
        "object": before_object,
        "call_arguments": {"training": None} | ({"settings": settings} if settings else {}),
        "config": common.serialize(config),
        "lora": lora,
        "inputs": [common.tensor(x)],
        "weights": before,
        "quantized": after,
        "adapted": [common.variable(weight) for weight in layer.weights],
        "quantized_object": common.serialize(layer),
        "saved": [common.tensor(saved[str(i)]) for i in range(len(saved))],
        "outputs": [common.tensor(tf.cast(output, tf.float32))],
    }


def quantizer_cases():
    for name, options in {
        "default": {},
        "first_axis": {"axis": 0},
        "both_axes": {"axis": (0, 1)},
        "range": {"value_range": (-8, 7), "epsilon": 0.5},
    }.items():
        rng = common.start(f"abs_max_{name}")
        x = common.normal(rng, (4, 6))
        x[1] = 0
        options = {"axis": -1} | options
        values, scale = quantizers.abs_max_quantize(x, **options)
        yield {
            "name": f"abs_max_{name}",
            "quantizer": common.serialize(AbsMaxQuantizer(**options)),
            "inputs": [common.tensor(x)],
            "outputs": [common.tensor(values), common.tensor(scale)],
        }


def make():
    dense = lambda **options: lambda: layers.Dense(5, **options)
    einsum = lambda *arguments, **options: lambda: layers.EinsumDense(*arguments, **options)
    table = lambda **options: lambda: layers.Embedding(5, 3, **options)
    both = lambda **options: lambda: layers.ReversibleEmbedding(5, 3, **options)
    custom = Int8QuantizationConfig(
        AbsMaxQuantizer(axis=0, value_range=(-64, 63)), AbsMaxQuantizer(epsilon=0.1))
    reverse = {"settings": {"reverse": True}}
    layer_cases = [
        run("dense", dense(activation="relu", kernel_regularizer=regularizers.L2(0.1)), (3, 6)),
        run("dense_no_bias", dense(use_bias=False), (2, 3, 6)),
        run("dense_custom", dense(), (3, 6), custom),
        run("dense_weights_alone", dense(), (3, 6), weights_alone()),
        run("dense_lora", dense(), (3, 6), lora={"rank": 2, "lora_alpha": 3}),
        run("dense_bfloat16", dense(dtype="mixed_bfloat16"), (3, 6)),
        run("einsum_dense", einsum("abc,cde->abde", (None, 2, 3), bias_axes="de"), (2, 3, 5)),
        run("einsum_dense_merged", einsum("abcd,cde->abe", (None, 5), bias_axes="e"), (2, 3, 2, 4)),
        run("einsum_dense_lora", einsum("abc,cd->abd", (None, 4)), (2, 3, 5), lora={"rank": 2}),
        run("einsum_dense_turned", einsum("abc,edc->abed", (None, 3, 2)), (2, 4, 5)),
        run("embedding", table(), INDICES),
        run("embedding_lora", table(), INDICES, lora={"rank": 1, "lora_alpha": 2}),
        run("reversible_embedding", both(), INDICES),
        run("reversible_embedding_untied", both(tie_weights=False), INDICES),
        run("reversible_embedding_back", both(), (2, 4, 3), **reverse),
        run("reversible_embedding_untied_back", both(tie_weights=False, logit_soft_cap=2.0),
            (2, 4, 3), **reverse),
        run("reversible_embedding_lora_back", both(), (2, 4, 3), lora={"rank": 2}, **reverse),
    ]
    return layer_cases + list(quantizer_cases())
