# SPDX-License-Identifier: Apache-2.0
"""Models with branches, and models that move or join open axes, for onnx_models.py."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx_operators import BATCH, draw, ints, node

ALL_OPEN = {"x": ["n", None, "h", "w"]}


def branch(nodes, output="v", weights=None):
    value = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
    tensors = [numpy_helper.from_array(w, key) for key, w in (weights or {}).items()]
    return helper.make_graph(nodes, "branch", [], [value], tensors)


def if_node(condition, then, otherwise, output="y"):
    return node("If", condition, output, then_branch=then, else_branch=otherwise)


def branches(add):
    unread = branch([node("NonZero", "x", "i"), node("Cast", "i", "v", to=1)])
    size = [node("Shape", "x", "s", start=1, end=2), node("Equal", "s four", "fits")]
    add("a branch that a known size chooses", [
        *size, if_node("fits", branch([node("Relu", "x", "v")]), unread)],
        {"x": draw(3, 4)}, {"four": ints(4)}, axes=BATCH)
    add("the other branch", [
        *size, if_node("fits", unread, branch([node("Relu", "x", "r"), node("Add", "r r", "v")]))],
        {"x": draw(3, 5)}, {"four": ints(4)}, axes=BATCH)
    positive = [node("ReduceSum", "x", "sum", keepdims=0), node("Greater", "sum zero", "positive")]
    weights = {"zero": np.float32(0), "b": draw(4)}
    copies = {"b": weights["b"]}
    inner = if_node("large", branch([node("Exp", "x", "u")], "u"),
                    branch([node("Add", "x b", "u")], "u"), "v")
    for sign in 1, -1:
        given = {"x": sign * (np.abs(draw(3, 4)) + np.float32(0.1))}
        add(f"a branch that a number chooses, {sign}", [
            *positive, if_node("positive", branch([node("Mul", "x b", "w"), node("Neg", "w", "v")]),
                               branch([node("Add", "x b", "w"), node("Abs", "w", "v")]))],
            given, weights, axes=BATCH)
        add(f"a branch with a copy of a tensor, {sign}", [
            *positive, if_node("positive", branch([node("Add", "x b", "v")], weights=copies),
                               branch([node("Sub", "x b", "v")]))],
            given, weights, axes=BATCH)
        add(f"a branch in a branch, {sign}", [
            *positive, node("Greater", "sum hundred", "large"),
            if_node("positive", branch([inner]), branch([node("Identity", "x", "v")]))],
            given, {**weights, "hundred": np.float32(100)}, axes=BATCH)
        add(f"a product that a branch alone reads, {sign}", [
            *positive, node("MatMul", "x k", "p"),
            if_node("positive", branch([node("Add", "p b", "v")]),
                    branch([node("Sub", "x b", "v")]))],
            given, {**weights, "k": draw(4, 4)}, axes=BATCH)
        add(f"branches of two shapes, {sign}", [
            *positive, if_node("positive", branch([node("Relu", "x", "v")]),
                               branch([node("Concat", "x x", "v", axis=1)]))],
            given, weights, axes=BATCH, unread="If")


def open_axes(add):
    joined = [
        node("Shape", "x", "n", start=0, end=1), node("Shape", "x", "t", start=2, end=3),
        node("Mul", "n four", "rows"), node("Concat", "rows t eight", "to", axis=0),
        node("Reshape", "x to", "j"), node("Softmax", "j", "p")]
    apart = [node("Concat", "n four t eight", "back", axis=0), node("Reshape", "p back")]
    weights = {"four": ints(4), "eight": ints(8), "one": ints(1), "end": ints(2**63 - 1)}
    for size in 1, 3, 40:
        x = draw(2, 4, size, 8)
        add(f"axes before an open one joined, {size}", [*joined, node("Relu", "p")], {"x": x},
            weights, axes={"x": ["n", None, "t"]})
        add(f"axes before an open one joined and parted, {size}", [*joined, *apart], {"x": x},
            weights, axes={"x": ["n", None, "t"]})
    for mode in "DCR", "CRD":
        add(f"DepthToSpace {mode} of any size",
            [node("DepthToSpace", "x", blocksize=2, mode=mode)], {"x": draw(2, 8, 3, 5)},
            axes=ALL_OPEN)
    add("SpaceToDepth of any size", [node("SpaceToDepth", "x", blocksize=2)],
        {"x": draw(2, 3, 4, 6)}, axes=ALL_OPEN)
    add("inputs whose rows have two names", [node("Concat", "x z", axis=1)],
        {"x": draw(2, 3), "z": draw(2, 5)}, axes={"x": ["a"], "z": ["b"]})
    add("a long window over an open axis", [
        node("Unsqueeze", "x one", "c"), node("Conv", "c k", strides=[100])],
        {"x": draw(2, 1100)}, {"one": ints(1), "k": draw(3, 1, 512)}, axes={"x": ["n", "t"]})
    for mode in "reflect", "edge":
        for size in 4, 50:
            add(f"Pad {mode} of any size, {size}", [node("Pad", "x p", mode=mode)],
                {"x": draw(2, size)}, {"p": ints(0, 3, 0, 2)}, axes={"x": ["n", "t"]})
    add("Pad wrap of any size", [node("Pad", "x p", mode="wrap")], {"x": draw(2, 4)},
        {"p": ints(0, 3, 0, 2)}, axes={"x": ["n", "t"]}, opset=19, unread="Pad")
    places = np.array([[0, -1], [2, 1], [-4, 3]])
    for reduction in "none", "add":
        add(f"ScatterElements {reduction} of any rows",
            [node("ScatterElements", "x i u", axis=1, reduction=reduction)],
            {"x": draw(3, 4), "i": places, "u": draw(3, 2)},
            axes={"x": ["n"], "i": ["n"], "u": ["n"]})
    add("ScatterElements along any rows", [node("ScatterElements", "x i u", axis=0)],
        {"x": draw(5, 2), "i": np.array([[0, -1], [2, 1]]), "u": draw(2, 2)}, axes={"x": ["n"]})
    add("no rows appended", [
        node("Shape", "x", "n", start=0, end=1), node("Concat", "n none one", "s", axis=0),
        node("ConstantOfShape", "s", "z"), node("Concat", "x z", axis=1)], {"x": draw(2, 3, 1)},
        {"none": ints(0), "one": ints(1)}, axes=BATCH)
    for size in 1, 5, 300:
        add(f"every other place, {size}", [
            node("Shape", "x", "t", start=1, end=2), node("Squeeze", "t", "size"),
            node("Mul", "size two", "to"), node("Range", "zero to two", "r"),
            node("Cast", "r", "f", to=1), node("Add", "x f")], {"x": draw(2, size)},
            {"zero": np.int64(0), "two": np.int64(2)}, axes={"x": ["n", "t"]}, tolerance=1e-4)
        add(f"Attention of any length, {size}",
            [node("Attention", "x x x", q_num_heads=2, kv_num_heads=2, is_causal=1)],
            {"x": draw(2, size, 6)}, axes={"x": ["n", "t"]}, opset=23)


def quantized(add):
    weights = {"s": np.float32(0.05), "z": np.uint8(120), "ks": np.float32([0.02, 0.03, 0.01]),
               "kz": np.array([0, 0, 0], np.int8),
               "k": np.random.default_rng(5).integers(-127, 128, (3, 2, 3, 3)).astype(np.int8)}
    x = draw(2, 2, 6, 5)
    around = [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "d")]
    add("a quantized convolution", [
        *around, node("DequantizeLinear", "k ks kz", "f", axis=0), node("Conv", "d f")], {"x": x},
        weights, axes=BATCH, tolerance=1e-4)
    add("a convolution quantized at run time", [
        node("DynamicQuantizeLinear", "x", "q qs qz"),
        node("ConvInteger", "q k qz", "i", pads=[1, 1, 1, 1], strides=[2, 1]),
        node("Cast", "i", "c", to=1), node("Mul", "c qs")], {"x": x}, weights, axes=BATCH,
        tolerance=1e-4)
    add("a product quantized at run time", [
        node("DynamicQuantizeLinear", "x", "q qs qz"), node("MatMulInteger", "q m qz mz", "i"),
        node("Cast", "i", "c", to=1), node("Mul", "c qs")], {"x": draw(3, 4)},
        {"m": np.arange(-10, 10, dtype=np.int8).reshape(4, 5), "mz": np.int8(3)}, axes=BATCH,
        tolerance=1e-4)


def add_to(cases):
    for part in branches, open_axes, quantized:
        part(cases.add)
