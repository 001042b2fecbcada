# SPDX-License-Identifier: Apache-2.0
"""Layers with int8 and int4 weights: those with a quantized dtype policy, for golden_layers.py; and
layers that are quantized after they were built. Keras fails for an EinsumDense whose equation has
"...". Also the results of quantizers, and of functions that pack int4 numbers."""

import common
import numpy as np
import tensorflow as tf
from keras import layers, quantizers, regularizers
from keras.quantizers import AbsMaxQuantizer, Int4QuantizationConfig, Int8QuantizationConfig

INT8 = "int8_from_float32"
INT4 = "int4_from_float32"
BLOCKS = "int4/4_from_float32"
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
    yield from int4_cases(case)


def int4_cases(case):
    for kind, dtype in {"int4": INT4, "int4_blocks": BLOCKS}.items():
        dense = lambda dtype=dtype, **options: lambda: layers.Dense(5, dtype=dtype, **options)
        einsum = lambda *arguments, dtype=dtype, **options: lambda: layers.EinsumDense(
            *arguments, dtype=dtype, **options)
        table = lambda dtype=dtype, **options: lambda: layers.Embedding(5, 7, dtype=dtype, **options)
        back = lambda dtype=dtype, **options: lambda: layers.ReversibleEmbedding(
            5, 7, dtype=dtype, **options)
        yield case(f"{kind}_dense", dense(activation="tanh"), (3, 6))
        yield case(f"{kind}_dense_no_bias_3d", dense(use_bias=False), (2, 3, 9))
        yield case(f"{kind}_dense_lora", dense(lora_rank=2), (3, 6))
        yield case(f"{kind}_einsum_dense_heads",
                   einsum("abc,cde->abde", (None, 2, 3), bias_axes="de"), (2, 3, 5))
        yield case(f"{kind}_einsum_dense_turned", einsum("abc,edc->abed", (None, 3, 2)), (2, 4, 5))
        yield case(f"{kind}_einsum_dense_lora", einsum("abc,cd->abd", (None, 4), lora_rank=2),
                   (2, 3, 5))
        yield case(f"{kind}_embedding", table(mask_zero=True), INDICES)
        yield case(f"{kind}_embedding_lora", table(lora_rank=2), INDICES)
        yield case(f"{kind}_reversible_embedding", back(tie_weights=False), INDICES)
    activations = Int4QuantizationConfig(None, AbsMaxQuantizer(), None)
    yield case("int4_dense_activations",
               lambda: layers.Dense(5, dtype=INT4, quantization_config=activations), (3, 6))
    yield case("int4_einsum_dense_activations",
               lambda: layers.EinsumDense("abcd,cde->abe", (None, 5), dtype=INT4,
                                          quantization_config=activations), (2, 3, 2, 4))
    yield case("int4_dense_config",
               lambda: layers.Dense(3, dtype=BLOCKS,
                                    quantization_config=Int4QuantizationConfig(block_size=3)),
               (2, 7))


def run(name, make_layer, inputs, config=None, lora=None, settings=None, mode="int8"):
    """lora: enable_lora's arguments, called after quantize."""
    rng = common.start(name)
    layer = make_layer()
    before_object = common.serialize(layer)
    x = inputs if isinstance(inputs, np.ndarray) else common.normal(rng, inputs)
    layer.build(x.shape)
    for weight in layer.weights:
        weight.assign(common.normal(rng, weight.shape, 0.5))
    before = [common.variable(weight) for weight in layer.weights]
    layer.quantize(mode, config=config)
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
        "mode": mode,
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


def matrix_cases():
    """Yields functions of matrices, with their arguments."""
    for name, (shape, axis, dtype) in {
        "rows": ((4, 3), 0, "int8"),
        "odd_rows": ((5, 2), 0, "int8"),
        "columns": ((2, 3), -1, "int8"),
        "middle": ((2, 5, 2), 1, "int8"),
        "unsigned": ((3, 3), 0, "uint8"),
        "vector": ((1,), 0, "int8"),
    }.items():
        rng = common.start(f"pack_int4_{name}")
        low = 0 if dtype == "uint8" else -8
        x = rng.integers(low, low + 16, shape).astype(dtype)
        packed, packed_shape, length = quantizers.pack_int4(x, axis, dtype)
        yield {
            "name": f"pack_int4_{name}",
            "function": "pack_int4",
            "axis": axis,
            "dtype": dtype,
            "inputs": [common.tensor(x)],
            "packed_shape": list(packed_shape),
            "orig_len": length,
            "outputs": [common.tensor(packed),
                        common.tensor(quantizers.unpack_int4(packed, length, axis, dtype))],
        }
    for name, (shape, block, value_range) in {
        "even": ((6, 2), 3, (-8, 7)),
        "odd": ((7, 3), 3, (-8, 7)),
        "one": ((4, 3), 1, (-8, 7)),
        "whole": ((5, 3), 5, (-8, 7)),
        "large": ((5, 3), 128, (-8, 7)),
        "two_bits": ((5, 2), 2, (-2, 1)),
    }.items():
        rng = common.start(f"grouped_{name}")
        x = common.normal(rng, shape)
        x[:, -1] = 0.25
        x[-1] = 0
        made = quantizers.abs_max_quantize_grouped_with_zero_point(
            x, block, value_range, to_numpy=True)
        yield {
            "name": f"grouped_{name}",
            "function": "abs_max_quantize_grouped_with_zero_point",
            "block_size": block,
            "value_range": value_range,
            "inputs": [common.tensor(x)],
            "outputs": [common.tensor(value) for value in made],
        }


def int4_layer_cases():
    dense = lambda **options: lambda: layers.Dense(5, **options)
    einsum = lambda *arguments, **options: lambda: layers.EinsumDense(*arguments, **options)
    table = lambda **options: lambda: layers.Embedding(5, 7, **options)
    both = lambda **options: lambda: layers.ReversibleEmbedding(5, 7, **options)
    reverse = {"settings": {"reverse": True}}
    kinds = {
        "int4": None,
        "int4_channels": Int4QuantizationConfig(block_size=-1),
        "int4_blocks": Int4QuantizationConfig(block_size=4),
    }
    for kind, config in kinds.items():
        made = lambda name, *arguments, kind=kind, config=config, **options: run(
            f"{kind}_{name}", *arguments, config=config, mode="int4", **options)
        yield made("dense", dense(activation="relu", kernel_regularizer=regularizers.L2(0.1)), (3, 6))
        yield made("dense_no_bias", dense(use_bias=False), (2, 3, 9))
        yield made("dense_lora", dense(), (3, 6), lora={"rank": 2, "lora_alpha": 3})
        yield made("dense_bfloat16", dense(dtype="mixed_bfloat16"), (3, 6))
        yield made("dense_float16", dense(dtype="mixed_float16"), (3, 6))
        yield made("einsum_dense", einsum("abc,cde->abde", (None, 2, 3), bias_axes="de"), (2, 3, 5))
        yield made("einsum_dense_merged", einsum("abcd,cde->abe", (None, 5), bias_axes="e"),
                   (2, 3, 2, 4))
        yield made("einsum_dense_lora", einsum("abc,cd->abd", (None, 4)), (2, 3, 5), lora={"rank": 2})
        yield made("einsum_dense_turned", einsum("abc,edc->abed", (None, 3, 2)), (2, 4, 5))
        yield made("embedding", table(), INDICES)
        yield made("embedding_lora", table(), INDICES, lora={"rank": 1, "lora_alpha": 2})
        yield made("reversible_embedding", both(), INDICES)
        yield made("reversible_embedding_untied", both(tie_weights=False), INDICES)
        yield made("reversible_embedding_back", both(), (2, 4, 7), **reverse)
        yield made("reversible_embedding_untied_back", both(tie_weights=False, logit_soft_cap=2.0),
                   (2, 4, 7), **reverse)
        yield made("reversible_embedding_lora_back", both(), (2, 4, 7), lora={"rank": 2}, **reverse)
    custom = Int4QuantizationConfig(
        AbsMaxQuantizer(axis=0, value_range=(-8, 7), epsilon=0.1), AbsMaxQuantizer(), None)
    activations = Int4QuantizationConfig(None, AbsMaxQuantizer(), None)
    yield run("int4_dense_custom", dense(), (3, 6), custom, mode="int4")
    yield run("int4_einsum_dense_activations", einsum("abcd,cde->abe", (None, 5)), (2, 3, 2, 4),
              activations, mode="int4")
    yield run("int4_reversible_embedding_activations_back", both(), (2, 4, 7), activations,
              mode="int4", **reverse)


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
    return layer_cases + list(int4_layer_cases()) + list(quantizer_cases()) + list(matrix_cases())
