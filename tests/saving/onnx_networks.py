# SPDX-License-Identifier: Apache-2.0
"""Models of convolutions, pooling, normalizations, images and recurrences, for onnx_models.py."""

import numpy as np
from onnx import numpy_helper
from onnx_operators import BATCH, draw, ints, node


def convolutions(add):
    for axes, letters in ((1, "a"), (2, "ab"), (3, "abc")):
        size = (9, 8, 7)[:axes]
        x = draw(2, 4, *size)
        kernel = (3, 2, 3)[:axes]
        w, b = draw(6, 4, *kernel), draw(6)
        for name, options in (
                ("", {}), ("strides", {"strides": [2] * axes}),
                ("dilations", {"dilations": [2, 1, 1][:axes]}),
                ("pads", {"pads": [1] * axes + [2] * axes}),
                ("pads and strides", {"pads": [1] * axes + [1] * axes, "strides": [2] * axes}),
                ("SAME_UPPER", {"auto_pad": "SAME_UPPER", "strides": [2] * axes}),
                ("SAME_LOWER", {"auto_pad": "SAME_LOWER", "strides": [2] * axes}),
                ("VALID", {"auto_pad": "VALID"})):
            add(f"Conv{axes} {name}", [node("Conv", "x w b", **options)], {"x": x},
                {"w": w, "b": b}, axes=BATCH)
        add(f"Conv{axes} without a bias", [node("Conv", "x w", kernel_shape=list(kernel))], {"x": x},
            {"w": w}, axes=BATCH, opset=11)
        add(f"Conv{axes} groups", [node("Conv", "x w b", group=2)], {"x": x},
            {"w": draw(6, 2, *kernel), "b": b}, axes=BATCH)
        add(f"Conv{axes} depthwise", [node("Conv", "x w b", group=4, pads=[1] * 2 * axes)],
            {"x": x}, {"w": draw(8, 1, *kernel), "b": draw(8)}, axes=BATCH)
        add(f"Conv{axes} depthwise strides", [node("Conv", "x w", group=4, strides=[2] * axes)],
            {"x": x}, {"w": draw(4, 1, *kernel)}, axes=BATCH)
        add(f"Conv{axes} of any size", [node("Conv", "x w b", pads=[1] * 2 * axes)], {"x": x},
            {"w": w, "b": b}, axes={"x": ["n", None, *letters]})
        w = draw(4, 3, *kernel)
        for name, options in (
                ("", {}), ("strides", {"strides": [2] * axes}),
                ("pads", {"strides": [2] * axes, "pads": [1] * axes + [0] * axes}),
                ("output_padding", {"strides": [3] * axes, "pads": [1] * 2 * axes,
                                    "output_padding": [2] * axes}),
                ("dilations", {"dilations": [2, 1, 1][:axes]}),
                ("far apart", {"strides": [4] * axes}),
                ("output_shape", {"strides": [2] * axes,
                                  "output_shape": [2 * n for n in size]}),
                ("SAME_UPPER", {"strides": [2] * axes, "auto_pad": "SAME_UPPER"})):
            add(f"ConvTranspose{axes} {name}", [node("ConvTranspose", "x w b", **options)],
                {"x": x}, {"w": w, "b": draw(3)}, axes=BATCH)
    add("Conv1 causal", [node("Conv", "x w", pads=[2, 0])], {"x": draw(2, 4, 9)},
        {"w": draw(6, 4, 3)}, axes={"x": ["n", None, "t"]})
    add("Conv strides and dilations", [node("Conv", "x w", strides=[2, 2], dilations=[2, 2])],
        {"x": draw(2, 4, 9, 9)}, {"w": draw(6, 4, 3, 3)}, unread="Conv")
    add("Conv of computed weights", [node("Conv", "x z")],
        {"x": draw(2, 4, 9, 9), "z": draw(6, 4, 3, 3)}, unread="Conv")
    add("ConvTranspose groups", [node("ConvTranspose", "x w", group=2)], {"x": draw(2, 4, 5)},
        {"w": draw(4, 2, 3)}, unread="ConvTranspose")


def pooling(add):
    for axes in 1, 2, 3:
        x = draw(2, 3, *(9, 8, 7)[:axes])
        two, three = [2] * axes, [3] * axes
        for op in "MaxPool", "AveragePool":
            for name, options in (
                    ("", {"kernel_shape": two}), ("strides", {"kernel_shape": two, "strides": two}),
                    ("pads", {"kernel_shape": three, "strides": two, "pads": [1] * 2 * axes}),
                    ("uneven pads", {"kernel_shape": three, "strides": two,
                                     "pads": [0] * axes + [1] * axes}),
                    ("SAME_UPPER", {"kernel_shape": three, "strides": two,
                                    "auto_pad": "SAME_UPPER"}),
                    ("SAME_LOWER", {"kernel_shape": two, "strides": [1] * axes,
                                    "auto_pad": "SAME_LOWER"}),
                    ("ceil", {"kernel_shape": two, "strides": two, "ceil_mode": 1}),
                    ("ceil and pads", {"kernel_shape": three, "strides": two, "ceil_mode": 1,
                                       "pads": [1] * 2 * axes})):
                add(f"{op}{axes} {name}", [node(op, "x", **options)], {"x": x}, axes=BATCH)
        for name, options in (
                ("pads", {"pads": [1] * 2 * axes}), ("", {}),
                ("SAME_UPPER", {"auto_pad": "SAME_UPPER"})):
            add(f"AveragePool{axes} counted {name}",
                [node("AveragePool", "x", kernel_shape=three, strides=two, count_include_pad=1,
                      **options)], {"x": x}, axes=BATCH)
        for op in "GlobalAveragePool", "GlobalMaxPool":
            add(f"{op}{axes}", [node(op, "x")], {"x": x}, axes=BATCH)
    add("MaxPool dilations", [node("MaxPool", "x", kernel_shape=[2], dilations=[2])],
        {"x": draw(2, 3, 9)}, unread="MaxPool")
    add("MaxPool places", [node("MaxPool", "x", "p i", kernel_shape=[2, 2]), node("Identity", "i")],
        {"x": draw(2, 3, 6, 6)}, unread="Identity")


def normalizations(add):
    x = draw(2, 6, 5, 4)
    scale, shift = draw(6, seed=1), draw(6, seed=2)
    mean, variance = draw(6, seed=4), draw(6, seed=5, low=0.3)
    weights = {"s": scale, "b": shift, "m": mean, "v": variance}
    for opset in 7, 9, 15:
        for name, y in (("", x), ("of a matrix", x[:, :, 0, 0]), ("of steps", x[:, :, 0])):
            add(f"BatchNormalization {opset} {name}",
                [node("BatchNormalization", "x s b m v", epsilon=1e-3, momentum=0.8)], {"x": y},
                weights, opset=opset, axes=BATCH)
    add("BatchNormalization default", [node("BatchNormalization", "x s b m v")], {"x": x}, weights,
        axes=BATCH)
    some = {"s": scale, "b": shift}
    for name, y in (("", x), ("of steps", x[:, :, 0])):
        add(f"InstanceNormalization {name}", [node("InstanceNormalization", "x s b")], {"x": y},
            some, axes=BATCH)
        add(f"GroupNormalization {name}",
            [node("GroupNormalization", "x s b", num_groups=3, epsilon=1e-3)], {"x": y}, some,
            opset=21, axes=BATCH)
    add("GroupNormalization old", [node("GroupNormalization", "x s b", num_groups=3)], {"x": x},
        {"s": draw(3, seed=1), "b": draw(3, seed=2)}, opset=18, axes=BATCH)
    add("LayerNormalization", [node("LayerNormalization", "x s b")], {"x": x},
        {"s": draw(4), "b": draw(4, seed=2)}, opset=17, axes=BATCH)
    add("LayerNormalization of two axes", [node("LayerNormalization", "x s", axis=2, epsilon=1e-3)],
        {"x": x}, {"s": draw(5, 4)}, opset=17, axes=BATCH)
    add("LayerNormalization of a scale with more axes",
        [node("LayerNormalization", "x s b", axis=2)], {"x": x},
        {"s": draw(1, 5, 4), "b": draw(1, 1, 4, seed=2)}, opset=17, axes=BATCH)
    add("LRN", [node("LRN", "x", size=3)], {"x": x}, axes=BATCH)
    add("LRN wide", [node("LRN", "x", size=5, alpha=0.1, beta=0.5, bias=2.0)], {"x": x}, axes=BATCH)
    add("LpNormalization", [node("LpNormalization", "x")], {"x": x}, axes=BATCH)
    zeros = np.array([[0, 0], [3, -4], [np.nan, 0]], np.float32)
    for p in 1, 2:
        add(f"LpNormalization {p} of zeros", [node("LpNormalization", "x", p=p)], {"x": zeros},
            axes=BATCH)
    add("LpNormalization 1", [node("LpNormalization", "x", axis=1, p=1)], {"x": x}, axes=BATCH)
    add("MeanVarianceNormalization", [node("MeanVarianceNormalization", "x")], {"x": x}, axes=BATCH)


def pictures(add):
    x = draw(2, 3, 5, 6)
    for coordinates in "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel":
        for mode in "nearest", "linear", "cubic":
            for name, weights, inputs in (
                    ("larger", {"s": np.array([1, 1, 2, 2], np.float32)}, "x  s"),
                    ("smaller", {"s": np.array([1, 1, 0.6, 0.5], np.float32)}, "x  s"),
                    ("to sizes", {"s": ints(2, 3, 7, 9)}, "x   s")):
                batch = None if name == "to sizes" else BATCH
                add(f"Resize {coordinates} {mode} {name}",
                    [node("Resize", inputs, mode=mode, coordinate_transformation_mode=coordinates)],
                    {"x": x}, weights, axes=batch, opset=13, tolerance=1e-4)
    for rounding in "floor", "ceil", "round_prefer_ceil", "round_prefer_floor":
        add(f"Resize {rounding}",
            [node("Resize", "x  s", mode="nearest", nearest_mode=rounding)], {"x": x},
            {"s": np.array([1, 1, 1.5, 3], np.float32)}, axes=BATCH)
    add("Resize of any size", [node("Resize", "x  s", mode="nearest", nearest_mode="floor",
                                    coordinate_transformation_mode="asymmetric")], {"x": x},
        {"s": np.array([1, 1, 2, 3], np.float32)}, axes={"x": ["n", None, "h", "w"]})
    add("Resize of some axes", [node("Resize", "x   s", mode="linear", axes=[2, 3])], {"x": x},
        {"s": ints(7, 9)}, axes=BATCH)
    add("Resize exclude_outside", [node("Resize", "x  s", mode="cubic", exclude_outside=1,
                                        cubic_coeff_a=-0.5)], {"x": x},
        {"s": np.array([1, 1, 2, 1.5], np.float32)}, axes=BATCH, tolerance=1e-4)
    add("Resize 10", [node("Resize", "x s", mode="linear")], {"x": x},
        {"s": np.array([1, 1, 2, 2], np.float32)}, axes=BATCH, opset=10)
    line = draw(1, 1, 10, 10)
    for scale in 0.3, 0.6, 0.7, 1.3, 2.3:
        for mode in "nearest", "linear":
            for opset, options in (10, {}), (11, {"coordinate_transformation_mode": "asymmetric",
                                                  "nearest_mode": "floor"}):
                add(f"Resize {opset} by {scale} {mode}",
                    [node("Resize", "x s" if opset == 10 else "x r s", mode=mode, **options)],
                    {"x": line}, {"s": np.array([1, 1, scale, scale], np.float32),
                                  "r": np.zeros(0, np.float32)}, opset=opset, axes=BATCH)
    for mode in "nearest", "linear", "cubic":
        add(f"Resize to the same {mode}", [node("Resize", "x  s", mode=mode)], {"x": x},
            {"s": np.array([1, 1, 1.1, 1.15], np.float32)}, axes=BATCH)
    add("Upsample by 1.3", [node("Upsample", "x s")], {"x": line},
        {"s": np.array([1, 1, 1.3, 2.3], np.float32)}, opset=9, axes=BATCH)
    for dtype in np.uint8, np.int8, np.int32:
        whole = np.random.default_rng(4).integers(0, 128, (2, 3, 5, 6)).astype(dtype)
        for coordinates in "half_pixel", "asymmetric", "align_corners", "half_pixel_symmetric":
            for name, scales in (("larger", (2, 2.3)), ("smaller", (0.6, 0.5)), ("wider", (1, 3))):
                add(f"Resize {coordinates} {name} of {dtype.__name__}",
                    [node("Resize", "x  s", mode="linear",
                          coordinate_transformation_mode=coordinates)], {"x": whole},
                    {"s": np.array([1, 1, *scales], np.float32)}, axes=BATCH, opset=19)
        add(f"Resize to sizes of a matrix of {dtype.__name__}",
            [node("Resize", "x   s", mode="linear")], {"x": whole[0, 0]}, {"s": ints(7, 4)})
        add(f"Resize nearest of {dtype.__name__}", [node("Resize", "x  s")], {"x": whole},
            {"s": np.array([1, 1, 2, 0.7], np.float32)}, axes=BATCH)
    for opset in 7, 9:
        for mode in "nearest", "linear":
            scales = np.array([1, 1, 2, 3], np.float32)
            inputs, options = ("x s", {}) if opset == 9 else ("x", {"scales": list(scales)})
            add(f"Upsample {opset} {mode}", [node("Upsample", inputs, mode=mode, **options)],
                {"x": x}, {"s": scales} if opset == 9 else {}, axes=BATCH, opset=opset)
    deep = draw(2, 8, 4, 6)
    for mode in "DCR", "CRD":
        add("DepthToSpace " + mode, [node("DepthToSpace", "x", blocksize=2, mode=mode)],
            {"x": deep}, axes=BATCH)
    add("SpaceToDepth", [node("SpaceToDepth", "x", blocksize=2)], {"x": deep}, axes=BATCH)


def recurrences(add):
    steps, features, units = 5, 4, 3
    x = draw(steps, 2, features)
    open_rows = {"x": [None, "n"]}
    for op, gates, outputs in (("LSTM", 4, "y h c"), ("GRU", 3, "y h"), ("RNN", 1, "y h")):
        for direction in "forward", "reverse", "bidirectional":
            n = 2 if direction == "bidirectional" else 1
            w, r = draw(n, gates * units, features), draw(n, gates * units, units, seed=5)
            b = draw(n, 2 * gates * units, seed=6)
            add(f"{op} {direction}",
                [node(op, "x w r b", outputs, hidden_size=units, direction=direction)], {"x": x},
                {"w": w, "r": r, "b": b}, outputs=outputs, axes=open_rows)
            add(f"{op} {direction} without a bias",
                [node(op, "x w r", outputs, hidden_size=units, direction=direction)], {"x": x},
                {"w": w, "r": r}, outputs=outputs, axes=open_rows, opset=11)
            add(f"{op} {direction} last", [node(op, "x w r b", " h", hidden_size=units,
                                                direction=direction)], {"x": x},
                {"w": w, "r": r, "b": b}, outputs="h", axes={"x": ["t", "n"]})
            states = {"h0": draw(n, 2, units, seed=8)}
            inputs = "x w r b  h0"
            if op == "LSTM":
                states["c0"] = draw(n, 2, units, seed=9)
                inputs += " c0"
            add(f"{op} {direction} begun",
                [node(op, inputs, outputs, hidden_size=units, direction=direction)],
                {"x": x, **states}, {"w": w, "r": r, "b": b}, outputs=outputs)
            zeros = [node("Shape", "x", "s", start=1, end=2),
                     node("Concat", "one s units", "to", axis=0),
                     node("ConstantOfShape", "to", "h0")]
            inputs = inputs.replace("c0", "h0")
            add(f"{op} {direction} begun with zeros",
                [*zeros, node(op, inputs, outputs, hidden_size=units, direction=direction)],
                {"x": x}, {"w": w, "r": r, "b": b, "one": ints(n), "units": ints(units)},
                outputs=outputs, axes=open_rows)
    w, r, b = draw(1, 9, 4), draw(1, 9, 3, seed=5), draw(1, 18, seed=6)
    add("GRU linear_before_reset",
        [node("GRU", "x w r b", "y h", hidden_size=3, linear_before_reset=1)], {"x": x},
        {"w": w, "r": r, "b": b}, outputs="y h", axes=open_rows)
    add("RNN relu", [node("RNN", "x w r", "y h", hidden_size=3, activations=["Relu"])], {"x": x},
        {"w": draw(1, 3, 4), "r": draw(1, 3, 3, seed=5)}, outputs="y h", axes=open_rows)
    add("LSTM as of PyTorch", [
        node("Transpose", "x", "t", perm=[1, 0, 2]),
        node("LSTM", "t w r b", "l h c", hidden_size=3, direction="bidirectional"),
        node("Transpose", "l", "m", perm=[0, 2, 1, 3]), node("Reshape", "m to", "k"),
        node("Transpose", "k", perm=[1, 0, 2])], {"x": draw(2, 5, 4)},
        {"w": draw(2, 12, 4), "r": draw(2, 12, 3, seed=5), "b": draw(2, 24, seed=6),
         "to": ints(0, 0, -1)}, axes={"x": ["n", "t"]})
    add("LSTM with peepholes", [node("LSTM", "x w r b    p", "y", hidden_size=3)], {"x": x},
        {"w": draw(1, 12, 4), "r": draw(1, 12, 3), "b": draw(1, 24), "p": draw(1, 9)},
        unread="LSTM")
    add("GRU lengths", [node("GRU", "x w r b l", "y", hidden_size=3)], {"x": x},
        {"w": w, "r": r, "b": b, "l": np.array([5, 3], np.int32)}, unread="GRU")


def small_networks(add):
    x = draw(2, 3, 16, 16)
    weights = {"w": draw(8, 3, 3, 3), "s": draw(8, low=0.5), "b": draw(8), "m": draw(8, seed=4),
               "v": draw(8, low=0.5), "w2": draw(8, 8, 3, 3), "k": draw(5, 8), "c": draw(5)}
    add("a residual block", [
        node("Conv", "x w", "a", pads=[1, 1, 1, 1]), node("BatchNormalization", "a s b m v", "n"),
        node("Relu", "n", "r"), node("Conv", "r w2", "e", pads=[1, 1, 1, 1]),
        node("Add", "e r", "f"), node("GlobalAveragePool", "f", "g"), node("Flatten", "g", "h"),
        node("Gemm", "h k c", "l", transB=1), node("Softmax", "l")], {"x": x}, weights, axes=BATCH)
    tokens = np.array([[1, 2, 3, 4], [5, 6, 7, 0]])
    eight = {name: draw(8, 8, seed=i) for i, name in enumerate("qkvo")}
    add("attention", [
        node("Gather", "table x", "e"), node("LayerNormalization", "e s b", "n"),
        node("MatMul", "n q", "q1"), node("Add", "q1 bias", "q2"),
        node("Reshape", "q2 heads", "q3"), node("Transpose", "q3", "q4", perm=[0, 2, 1, 3]),
        node("MatMul", "n k", "k1"), node("Reshape", "k1 heads", "k2"),
        node("Transpose", "k2", "k3", perm=[0, 2, 3, 1]), node("MatMul", "n v", "v1"),
        node("Reshape", "v1 heads", "v2"), node("Transpose", "v2", "v3", perm=[0, 2, 1, 3]),
        node("MatMul", "q4 k3", "a"), node("Mul", "a half", "a2"), node("Softmax", "a2", "p"),
        node("MatMul", "p v3", "c"), node("Transpose", "c", "c2", perm=[0, 2, 1, 3]),
        node("Reshape", "c2 joined", "c3"), node("MatMul", "c3 o", "o1"), node("Add", "o1 e", "y")],
        {"x": tokens}, {"table": draw(11, 8), "s": draw(8), "b": draw(8), "bias": draw(8),
                        "heads": ints(0, 0, 2, 4), "joined": ints(0, 0, 8),
                        "half": np.float32(0.5), **eight}, axes={"x": ["n", "t"]})
    add("positions and a mask of any length", [
        node("Gather", "table x", "e"), node("Shape", "x", "s", start=1),
        node("Slice", "places zero s one", "p"), node("Add", "e p", "h"),
        node("Concat", "s s", "ss", axis=0),
        node("ConstantOfShape", "ss", "ones", value=numpy_helper.from_array(np.float32([1]))),
        node("Trilu", "ones", "low", upper=0), node("Cast", "low", "see", to=9),
        node("Not", "see", "hide"), node("Transpose", "h", "ht", perm=[0, 2, 1]),
        node("MatMul", "h ht", "a"), node("Where", "hide never a", "b"), node("Softmax", "b", "c"),
        node("MatMul", "c h", "d"), node("Gather", "d last", "l", axis=1),
        node("Slice", "d two end one", "t"), node("ReduceMax", "t one", "m", keepdims=0),
        node("Add", "l m")],
        {"x": tokens}, {"table": draw(11, 8), "places": draw(1, 64, 8, seed=4), "zero": ints(0),
                        "one": ints(1), "never": np.float32(-np.inf), "last": np.int64(-1),
                        "two": ints(-2), "end": ints(2**63 - 1)}, axes={"x": ["n", "t"]})
    add("several outputs", [node("MatMul", "x w", "first"), node("Relu", "first", "second/part")],
        {"x": draw(2, 4)}, {"w": draw(4, 3)}, outputs="first second/part", axes=BATCH)
    add("an output handed on", [node("Sigmoid", "x", "s"), node("Identity", "s")],
        {"x": draw(2, 4)}, axes=BATCH)
    add("an input handed on", [node("Identity", "x")], {"x": draw(2, 4)}, axes=BATCH)
    half = draw(2, 4).astype(np.float16)
    add("float16", [node("MatMul", "x w", "p"), node("Add", "p b", "q"), node("Relu", "q")],
        {"x": half}, {"w": draw(4, 3).astype(np.float16), "b": draw(3).astype(np.float16)},
        axes=BATCH, tolerance=5e-3)
    add("float64", [node("MatMul", "x w", "p"), node("Tanh", "p")],
        {"x": draw(2, 4).astype(np.float64)}, {"w": draw(4, 3).astype(np.float64)}, axes=BATCH)


def add_to(cases):
    for part in (convolutions, pooling, normalizations, pictures, recurrences, small_networks):
        part(cases.add)
