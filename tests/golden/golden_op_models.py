# SPDX-License-Identifier: Apache-2.0
"""Functional models with a single op of keras.ops each: their JSON, inputs and outputs."""

import json

import common
import golden_image_ops
import golden_ops
import keras
import numpy as np
from golden_ops import BOOLS, CUBE, EDGES, INTS, MATRIX, POSITIVE, SQUARE, f32, i32, numbers
from keras import ops

PER_OP = 2  # cases of golden_ops used per op
IMAGES = numbers(70, 2, 6, 5, 3)

# Shapes that depend on values, results that differ on TensorFlow, several tensors as one argument
# of a class, and random ops.
LEFT_OUT = {"nonzero", "unique", "bincount", "histogram", "allclose", "lu_factor", "nuc",
            "image.elastic_transform", "image.scale_and_translate", "image.extract_patches_3d",
            "trapezoid_points", "bincount_weights", "arange"}

# (name, op, inputs, further arguments)
MORE = [
    ("trapezoid_places", "trapezoid", [MATRIX], {"x": [0.0, 1.0, 3.0, 4.0]}),
    ("values_of_numpy", "subtract", [MATRIX], {"x2": f32(1, 2, 3, 4)}),
    ("integers", "add", [INTS], {"x2": i32(1, 2, 3, 4, 5, 6)}),
    ("kernel_of_values", "conv", [IMAGES], {"kernel": numbers(77, 2, 2, 3, 2)}),
    ("pad_reflect", "pad", [MATRIX], {"pad_width": [[0, 0], [2, 3]], "mode": "reflect"}),
    ("pad_symmetric", "pad", [MATRIX], {"pad_width": [[1, 3], [4, 0]], "mode": "symmetric"}),
    ("pad_value", "pad", [MATRIX], {"pad_width": [[0, 1], [2, 0]], "constant_values": 1.5}),
    ("round_decimals", "round", [EDGES * 1.37], {"decimals": 1}),
    ("round_tens", "round", [INTS * 7], {"decimals": -1}),
    ("repeat_each", "repeat", [MATRIX], {"repeats": [2, 0, 1], "axis": 0}),
    ("repeat_all", "repeat", [MATRIX], {"repeats": 2}),
    ("take_along_flat", "take_along_axis", [MATRIX, i32(3, 0, 11)], {}),
    ("take_along_rows", "take_along_axis", [MATRIX, i32(3, 0, 1, shape=(3, 1))], {"axis": 1}),
    ("max_initial", "max", [MATRIX], {"axis": 1, "initial": 0.5}),
    ("min_initial", "min", [MATRIX], {"axis": 0, "keepdims": True, "initial": -0.5}),
    ("cumsum_dtype", "cumsum", [BOOLS], {"dtype": "float32"}),
    ("tile", "tile", [MATRIX], {"repeats": [2, 1, 2]}),
    ("any_batch_repeat", "repeat", [MATRIX], {"repeats": 3, "axis": 1}),
    ("any_batch_repeat_each", "repeat", [CUBE], {"repeats": [2, 0, 1, 3], "axis": -1}),
    ("any_batch_tile", "tile", [CUBE], {"repeats": [1, 3, 2]}),
    ("any_batch_tile_last", "tile", [CUBE], {"repeats": [2]}),
    ("normalize", "normalize", [MATRIX], {}),
    ("normalize_1", "normalize", [CUBE], {"axis": 1, "order": 1}),
    ("layer_normalization", "layer_normalization", [MATRIX, f32(1, 2, 3, 4)], {}),
    ("rms_normalization", "rms_normalization", [MATRIX], {"scale": 2.0}),
    ("batch_normalization", "batch_normalization",
     [MATRIX, f32(1, 2, 3, 4), f32(2, 1, 4, 3)], {"axis": -1, "epsilon": 0.1}),
    ("moments", "moments", [CUBE], {"axes": [0, 2], "keepdims": True}),
    ("top_k", "top_k", [MATRIX], {"k": 2}),
    ("in_top_k", "in_top_k", [i32(0, 3, 2), MATRIX], {"k": 2}),
    ("attention", "dot_product_attention",
     [numbers(71, 2, 3, 2, 4), numbers(72, 2, 5, 2, 4), numbers(73, 2, 5, 2, 4)], {}),
    ("attention_scaled", "dot_product_attention",
     [numbers(71, 2, 3, 2, 4), numbers(72, 2, 3, 2, 4), numbers(73, 2, 3, 2, 4)],
     {"scale": 0.25, "is_causal": True}),
    ("conv", "conv", [IMAGES, numbers(74, 3, 2, 3, 4)], {"padding": "same", "strides": 2}),
    ("conv_channels_first", "depthwise_conv",
     [numbers(75, 2, 3, 6, 5), numbers(76, 2, 2, 3, 2)], {"data_format": "channels_first"}),
    ("separable_conv", "separable_conv",
     [IMAGES, numbers(78, 2, 2, 3, 1), numbers(79, 1, 1, 3, 2)], {}),
    ("max_pool", "max_pool", [IMAGES], {"pool_size": 2, "padding": "same"}),
    ("average_pool", "average_pool", [IMAGES], {"pool_size": [2, 3], "strides": 1}),
    ("adaptive_max_pool", "adaptive_max_pool", [IMAGES], {"output_size": [2, 2]}),
    ("glu", "glu", [MATRIX], {}), ("celu", "celu", [MATRIX], {"alpha": 0.5}),
    ("hard_shrink", "hard_shrink", [EDGES], {}), ("soft_shrink", "soft_shrink", [EDGES], {}),
    ("squareplus", "squareplus", [EDGES], {"b": 2}),
    ("sparse_plus", "sparse_plus", [EDGES], {}), ("sparse_sigmoid", "sparse_sigmoid", [EDGES], {}),
    ("threshold", "threshold", [EDGES], {"threshold": 0.3, "default_value": -2.0}),
    ("dot", "dot", [MATRIX, numbers(80, 4, 2)], {}),
    ("outer", "outer", [f32(1, 2), f32(3, 4, 5)], {}),
    ("tensordot", "tensordot", [CUBE, numbers(81, 4, 3)], {"axes": [[1, 2], [1, 0]]}),
    ("segment_sum", "segment_sum", [MATRIX, i32(1, 0, 1)], {"num_segments": 3}),
    ("eigh", "eigh", [np.diag(f32(3, 1, 2))], {}),
    ("binary_crossentropy", "binary_crossentropy", [f32(0, 1), f32(0.3, 0.6)], {}),
    ("categorical_crossentropy", "categorical_crossentropy",
     [np.eye(4, dtype="float32")[:3], MATRIX], {"from_logits": True}),
    ("sparse_crossentropy", "sparse_categorical_crossentropy", [i32(0, 3, 2), MATRIX],
     {"from_logits": True}),
]


def placeholder(index, value, any_batch):
    if any_batch:
        return keras.Input(value.shape[1:], dtype=value.dtype, name=f"in_{index}")
    return keras.Input(batch_shape=value.shape, dtype=value.dtype, name=f"in_{index}")


def apply(op, inputs, arguments):
    function = getattr(ops.image, op[6:]) if op.startswith("image.") else getattr(ops, op)
    keywords = golden_ops.python_arguments(arguments)
    if op == "einsum":
        return function(keywords["subscripts"], *inputs)
    if op == "meshgrid":
        return function(*inputs, **keywords)
    if op in golden_ops.OF_PARTS:
        return function(tuple(inputs), **keywords)
    if op in golden_ops.OF_LISTS:
        return function(list(inputs), **keywords)
    if op == "slice_update":
        return function(inputs[0], keywords["start_indices"], inputs[1])
    if op == "rearrange":
        return function(*inputs, keywords["pattern"], **keywords.get("sizes", {}))
    if op == "average" and len(inputs) == 2:
        keywords["weights"] = inputs[1]
        return function(inputs[0], **keywords)
    return function(*inputs, **keywords)


def case(name, op, inputs, arguments):
    """Returns None when Keras can't save the op, or restores something else."""
    keras.utils.clear_session()
    any_batch = name.startswith("any_batch_")
    placeholders = [placeholder(i, x, any_batch) if x.ndim else x for i, x in enumerate(inputs)]
    given = [x for x in inputs if x.ndim]
    if not given:
        return None
    try:
        made = apply(op, placeholders, arguments)
        model = keras.Model([x for x in placeholders if hasattr(x, "_keras_history")], made)
        text = model.to_json()
        outputs = keras.models.model_from_json(text)(given if len(given) > 1 else given[0])
    except Exception as error:  # gaps in Keras itself: printed and skipped
        print(f"op_models: left out {name}: {str(error).splitlines()[0][:80]}", flush=True)
        return None
    outputs = list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]
    return {
        "name": name,
        "model": json.loads(text),
        "inputs": [common.tensor(x) for x in given],
        "outputs": [common.tensor(x) for x in outputs],
    }


def make():
    of_ops = [(op, "plain", [np.asarray(x)], {}) for op, x in golden_ops.UNARY.items()]
    of_ops += [(op, "plain", [np.asarray(x) for x in pair], {})
               for op, pair in golden_ops.PAIRS.items()]
    of_ops += golden_ops.MORE + golden_image_ops.CASES
    counts = {}
    cases = list(MORE)
    for op, name, inputs, arguments in of_ops:
        counts[op] = counts.get(op, 0) + 1
        if counts[op] <= PER_OP and not {op, f"{op}_{name}"} & LEFT_OUT:
            cases.append((f"{op}_{name}_of_ops", op, [np.asarray(x) for x in inputs], arguments))
    return [made for item in cases if (made := case(*item))]
