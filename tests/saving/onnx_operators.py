# SPDX-License-Identifier: Apache-2.0
"""Models of one operator each, for onnx_models.py: with default and other attributes, in old and
new operator sets."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

BATCH = {"x": ["batch"]}


def draw(*shape, seed=3, low=None):
    x = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return x if low is None else np.abs(x) + np.float32(low)


def ints(*values):
    return np.array(values, np.int64)


def node(op, inputs, outputs="y", **attributes):
    """Names are separated by single spaces; two spaces in a row leave a name out."""
    return helper.make_node(op, inputs.split(" ") if inputs else [], outputs.split(" "),
                            name=f"{op}_{outputs.split(' ')[0]}", **attributes)


def elementwise(add):
    x, above = draw(2, 3, 4), draw(2, 3, 4, low=1.1)
    inside = np.clip(x / 4, -0.9, 0.9)
    for op in ("Abs Ceil Cos Cosh Erf Exp Floor IsNaN Neg Relu Round Sigmoid Sign Sin Sinh "
               "Softplus Softsign Tanh Identity HardSwish Mish").split():
        add(op, [node(op, "x")], {"x": x}, axes=BATCH, opset=18)
    for op in "Acos Asin Atan Atanh Asinh Tan".split():
        add(op, [node(op, "x")], {"x": inside}, axes=BATCH)
    for op in "Log Reciprocal Sqrt Acosh".split():
        add(op, [node(op, "x")], {"x": above}, axes=BATCH)
    for op in "Add Sub Mul Div Max Min Greater Less GreaterOrEqual LessOrEqual Equal".split():
        add(op, [node(op, "x z")], {"x": x, "z": above}, axes={"x": ["n"], "z": ["n"]})
        add(op + " broadcast", [node(op, "x w")], {"x": x}, {"w": draw(3, 1)}, axes=BATCH)
        add(op + " of a constant", [node(op, "w x")], {"x": x}, {"w": draw(4, seed=8)}, axes=BATCH)
    for op in "Add Sub Mul Div Max Min".split():
        i = np.arange(-6, 6, dtype=np.int32).reshape(3, 4)
        add(op + " of integers", [node(op, "x w")], {"x": i},
            {"w": np.array([1, -2, 3, -4], np.int32)}, axes=BATCH)
    add("Pow", [node("Pow", "x w")], {"x": above}, {"w": np.float32(1.5)}, axes=BATCH)
    add("Pow of integers", [node("Pow", "x w")], {"x": x}, {"w": np.int64(2)}, axes=BATCH)
    add("Mod", [node("Mod", "x w")], {"x": ints(-7, -1, 0, 5, 9)}, {"w": ints(3, 3, 3, -3, 4)})
    add("Shrink of integers", [node("Shrink", "x", lambd=1.5)], {"x": ints(-3, -1, 0, 1, 4)})
    add("Mod fmod", [node("Mod", "x w", fmod=1)], {"x": x}, {"w": np.float32(0.7)}, axes=BATCH)
    for op in "Sum Mean Max Min".split():
        add(op + " of three", [node(op, "x z w")], {"x": x, "z": above}, {"w": draw(4)},
            axes={"x": ["n"], "z": ["n"]})
        add(op + " of one", [node(op, "x")], {"x": x}, axes=BATCH)
    truth = x > 0
    add("Not", [node("Not", "x")], {"x": truth}, axes=BATCH)
    for op in "And Or Xor".split():
        add(op, [node(op, "x z")], {"x": truth, "z": above > 1.5},
            axes={"x": ["n"], "z": ["n"]})
        add(op + " old", [node(op, "x z")], {"x": truth, "z": above[0] > 1.5}, opset=7)
    add("Where", [node("Where", "c x z")], {"c": truth, "x": x, "z": above},
        axes={"c": ["n"], "x": ["n"], "z": ["n"]})
    add("Where constant", [node("Where", "c x w")], {"c": truth, "x": x}, {"w": np.float32(-1)},
        axes={"c": ["n"], "x": ["n"]})
    for name, kind in (("int32", TensorProto.INT32), ("bool", TensorProto.BOOL),
                       ("double", TensorProto.DOUBLE), ("half", TensorProto.FLOAT16),
                       ("int64", TensorProto.INT64), ("uint8", TensorProto.UINT8)):
        add("Cast to " + name, [node("Cast", "x", to=kind)], {"x": np.abs(x) * 3}, axes=BATCH)
    add("CastLike", [node("CastLike", "x w")], {"x": x}, {"w": ints(1)}, axes=BATCH)
    for dtype in np.int32, np.int64, np.bool_, np.float16, np.float64, np.uint8:
        name, given = dtype.__name__, (np.abs(x) * 3).astype(dtype)
        add("Identity of " + name, [node("Identity", "x")], {"x": given}, axes=BATCH)
        add("Cast that changes nothing of " + name,
            [node("Cast", "x", to=helper.np_dtype_to_tensor_dtype(given.dtype))], {"x": given},
            axes=BATCH)
    infinite = np.array([[1, np.inf], [-np.inf, np.nan]], np.float32)
    add("IsInf", [node("IsInf", "x")], {"x": infinite})
    add("IsInf positive", [node("IsInf", "x", detect_negative=0)], {"x": infinite})
    add("IsInf negative", [node("IsInf", "x", detect_positive=0)], {"x": infinite})
    for opset, attributes, weights, inputs in (
            (6, {"min": -0.5, "max": 0.25}, {}, "x"), (6, {"max": 0.25}, {}, "x"),
            (11, {}, {"low": np.float32(-0.5), "high": np.float32(1)}, "x low high"),
            (13, {}, {"high": np.float32(1)}, "x  high"), (13, {}, {}, "x"),
            (13, {}, {"low": np.float32(0), "high": np.float32(6)}, "x low high"),
            (10, {"min": 0.0, "max": 6.0}, {}, "x")):
        add(f"Clip {opset} {inputs}", [node("Clip", inputs, **attributes)], {"x": x * 4}, weights,
            opset=max(opset, 7), axes=BATCH)
    shifted = np.array([[1, 2], [200, 255]], np.uint8)
    for direction in "LEFT", "RIGHT":
        add("BitShift " + direction, [node("BitShift", "x w", direction=direction)],
            {"x": shifted}, {"w": np.array([1, 3], np.uint8)})
    for op in "BitwiseAnd BitwiseOr BitwiseXor".split():
        add(op, [node(op, "x w")], {"x": np.array([[1, 6], [7, -8]], np.int32)},
            {"w": np.array([3, 5], np.int32)})
    add("BitwiseNot", [node("BitwiseNot", "x")], {"x": np.array([[1, 6], [7, -8]], np.int32)})


def activations(add):
    x = draw(2, 3, 4, 5)
    for op, options in {
            "Elu": {"alpha": 0.7}, "LeakyRelu": {"alpha": 0.3}, "Selu": {"alpha": 1.5, "gamma": 0.9},
            "Celu": {"alpha": 1.7}, "HardSigmoid": {"alpha": 1 / 6, "beta": 0.5},
            "ThresholdedRelu": {"alpha": 0.4}, "Shrink": {"bias": 0.2, "lambd": 0.3}}.items():
        add(op, [node(op, "x")], {"x": x}, axes=BATCH)
        add(op + " with attributes", [node(op, "x", **options)], {"x": x}, axes=BATCH)
    for how in "none", "tanh":
        add("Gelu " + how, [node("Gelu", "x", approximate=how)], {"x": x}, opset=20, axes=BATCH)
    for op in "Softmax LogSoftmax Hardmax".split():
        add(op, [node(op, "x")], {"x": x}, axes=BATCH, opset=13)
        add(op + " along 1", [node(op, "x", axis=1)], {"x": x}, axes=BATCH, opset=13)
        add(op + " of a matrix", [node(op, "x")], {"x": x[:, :, 0, 0]}, axes=BATCH, opset=11)
    for op in "Softmax LogSoftmax".split():
        add(op + " old", [node(op, "x")], {"x": x}, axes=BATCH, opset=11)
        add(op + " old along 2", [node(op, "x", axis=2)], {"x": x}, axes=BATCH, opset=9)
    for shape in (3, 1, 1), (1,), (5,), (3, 4, 5):
        add(f"PRelu {shape}", [node("PRelu", "x w")], {"x": x}, {"w": draw(*shape)}, axes=BATCH)
    add("PRelu of any length", [node("PRelu", "x w")], {"x": x}, {"w": draw(3, 1, 1)},
        axes={"x": ["n", None, "h", "w"]})
    add("PRelu along any length", [node("PRelu", "x w")], {"x": x}, {"w": draw(4, 1)},
        axes={"x": ["n", None, "h", "w"]}, unread="PRelu")
    add("Dropout", [node("Dropout", "x")], {"x": x}, axes=BATCH, opset=12)
    add("Dropout old", [node("Dropout", "x", ratio=0.3)], {"x": x}, axes=BATCH, opset=7)
    add("Dropout with a ratio", [node("Dropout", "x r")], {"x": x}, {"r": np.float32(0.2)},
        opset=13, axes=BATCH)


def reductions(add):
    x = draw(2, 3, 4, low=0.2)
    for op in ("ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin "
               "ReduceProd ReduceSum ReduceSumSquare").split():
        add(op + " old", [node(op, "x", axes=[1, -1], keepdims=0)], {"x": x}, opset=11, axes=BATCH)
        add(op + " of all", [node(op, "x")], {"x": x}, opset=18, axes=BATCH)
        add(op, [node(op, "x w")], {"x": x}, {"w": ints(1)}, opset=18, axes=BATCH)
        add(op + " no-op", [node(op, "x", noop_with_empty_axes=1)], {"x": x}, opset=18)
    for dtype in np.int32, np.int64:
        whole = np.array([[5, -8, 1], [3, 3, 2], [-4, -4, -3], [2**30, 2**30, 2**30 + 2]], dtype)
        for name, weights in ("", {"w": ints(1)}), ("of all", {"w": ints(0, 1)}):
            add(f"ReduceMean of {dtype.__name__} {name}", [node("ReduceMean", "x w")],
                {"x": whole}, weights, axes=BATCH)
    add("ReduceSum 13", [node("ReduceSum", "x w", keepdims=0)], {"x": x}, {"w": ints(0, 2)},
        opset=13)
    for op in "ArgMax ArgMin".split():
        add(op, [node(op, "x")], {"x": x}, axes=BATCH)
        add(op + " of the last axis", [node(op, "x", axis=-1, keepdims=0)], {"x": x}, axes=BATCH)
        equal = np.array([[1, 2, 2], [3, 1, 1]], np.float32)
        add(op + " last of equal", [node(op, "x", axis=1, select_last_index=1)], {"x": equal})
    for exclusive in 0, 1:
        for reverse in 0, 1:
            add(f"CumSum {exclusive} {reverse}",
                [node("CumSum", "x w", exclusive=exclusive, reverse=reverse)], {"x": x},
                {"w": np.int64(1)}, axes=BATCH)
    for axis in 1, 2:
        for largest in 0, 1:
            add(f"TopK {axis} {largest}", [node("TopK", "x k", "y i", axis=axis, largest=largest)],
                {"x": x}, {"k": ints(2)}, outputs="y i", axes=BATCH)
    add("TopK old", [node("TopK", "x", "y i", k=3)], {"x": x}, outputs="y i", opset=9, axes=BATCH)


def shapes(add):
    x = draw(2, 3, 4)
    for name, to, options in (("", (2, 12), {}), ("open", (-1, 6), {}), ("kept", (0, -1), {}),
                              ("of one", (24,), {}), ("more", (0, 3, 2, 2), {})):
        axes = BATCH if name in ("open", "kept", "more") else None
        add("Reshape " + name, [node("Reshape", "x w", **options)], {"x": x}, {"w": ints(*to)},
            axes=axes)
    add("Reshape allowzero", [node("Reshape", "x w", allowzero=1)], {"x": draw(0, 3)},
        {"w": ints(3, 0)})
    for axis in 0, 1, 2, 3, -1:
        add(f"Flatten {axis}", [node("Flatten", "x", axis=axis)], {"x": x}, axes=BATCH)
    one = draw(2, 1, 4, 1)
    add("Squeeze", [node("Squeeze", "x")], {"x": one})
    add("Squeeze of any rows", [node("Squeeze", "x")], {"x": one}, axes=BATCH, unread="Squeeze")
    add("Squeeze old", [node("Squeeze", "x", axes=[1])], {"x": one}, opset=11, axes=BATCH)
    add("Squeeze 13", [node("Squeeze", "x w")], {"x": one}, {"w": ints(-1)}, axes=BATCH)
    add("Unsqueeze old", [node("Unsqueeze", "x", axes=[0, 3])], {"x": x}, opset=11, axes=BATCH)
    add("Unsqueeze", [node("Unsqueeze", "x w")], {"x": x}, {"w": ints(1, -1)}, axes=BATCH)
    add("Transpose", [node("Transpose", "x")], {"x": x}, axes=BATCH)
    add("Transpose perm", [node("Transpose", "x", perm=[0, 2, 1])], {"x": x}, axes=BATCH)
    for to in (5, 1, 1, 4), (3, 4), (2, 3, 4), (1,):
        rows = draw(1, 4) if len(to) == 4 else draw(1, 3, 1)
        add(f"Expand {to}", [node("Expand", "x w")], {"x": rows}, {"w": ints(*to)})
    add("Expand open", [node("Expand", "x w")], {"x": draw(2, 1, 4)}, {"w": ints(1, 3, 1)},
        axes=BATCH)
    add("Tile", [node("Tile", "x w")], {"x": x}, {"w": ints(1, 2, 3)}, axes=BATCH)
    add("Tile rows", [node("Tile", "x w")], {"x": x}, {"w": ints(2, 1, 1)})
    add("Concat", [node("Concat", "x z w", axis=1)], {"x": x, "z": draw(2, 1, 4)},
        {"w": draw(2, 2, 4)})
    add("Concat last", [node("Concat", "x x", axis=-1)], {"x": x}, axes=BATCH)
    add("Split", [node("Split", "x", "y z", axis=2, num_outputs=2)], {"x": x}, outputs="y z",
        axes=BATCH)
    add("Split uneven", [node("Split", "x w", "y z", axis=1)], {"x": x}, {"w": ints(1, 2)},
        outputs="y z", axes=BATCH)
    add("Split old", [node("Split", "x", "y z", axis=1, split=[2, 1])], {"x": x}, outputs="y z",
        opset=11, axes=BATCH)
    add("Slice old", [node("Slice", "x", starts=[1, -3], ends=[9, -1], axes=[1, 2])], {"x": x},
        opset=9, axes=BATCH)
    for name, begin, end, axes, steps in (
            ("front", (1,), (3,), (2,), None), ("back", (-2,), (2**63 - 1,), (1,), None),
            ("steps", (0, 1), (3, 4), (1, 2), (2, 2)), ("down", (-1,), (-9,), (2,), (-1,)),
            ("down by two", (2,), (0,), (1,), (-2,)), ("none", (2,), (1,), (2,), None),
            ("rows", (0,), (2**31 - 1,), (0,), None)):
        weights = {"b": ints(*begin), "e": ints(*end), "a": ints(*axes)}
        if steps:
            weights["s"] = ints(*steps)
        add("Slice " + name, [node("Slice", "x b e a" + (" s" if steps else ""))], {"x": x},
            weights, axes=BATCH)
    add("Slice all axes", [node("Slice", "x b e")], {"x": x},
        {"b": ints(0, 1, 1), "e": ints(2, 3, -1)})
    for mode in "constant", "reflect", "edge":
        add("Pad " + mode, [node("Pad", "x w", mode=mode)], {"x": x},
            {"w": ints(0, 1, 2, 0, 2, 1)}, axes=BATCH)
        add("Pad old " + mode, [node("Pad", "x", mode=mode, pads=[0, 1, 0, 0, 0, 2])], {"x": x},
            opset=10, axes=BATCH)
    add("Pad wrap", [node("Pad", "x w", mode="wrap")], {"x": x}, {"w": ints(0, 1, 2, 0, 2, 1)},
        opset=19)
    add("Pad value", [node("Pad", "x w v")], {"x": x},
        {"w": ints(0, 1, 0, 0, 0, 1), "v": np.float32(7)}, axes=BATCH)
    add("Pad axes", [node("Pad", "x w  a")], {"x": x}, {"w": ints(1, 2), "a": ints(-1)}, axes=BATCH)
    add("Pad less", [node("Pad", "x w")], {"x": x}, {"w": ints(0, -1, 1, 0, 0, -1)}, axes=BATCH)
    for upper in 0, 1:
        add(f"Trilu {upper}", [node("Trilu", "x", upper=upper)], {"x": x}, axes=BATCH)
        add(f"Trilu {upper} moved", [node("Trilu", "x k", upper=upper)], {"x": x},
            {"k": np.int64(1)}, axes=BATCH)
    sizes = [node("Shape", "x", "s"), node("Gather", "s i", "g"), node("Unsqueeze", "g z", "u"),
             node("Concat", "u r", "to", axis=0), node("Reshape", "x to")]
    add("a shape that follows the rows", sizes, {"x": x},
        {"i": np.int64(0), "z": ints(0), "r": ints(3, 2, 2)}, axes=BATCH)
    add("rows times columns", [
        node("Shape", "x", "s"), node("Slice", "s b e", "h"), node("ReduceProd", "h", "p",
                                                                   keepdims=1),
        node("Concat", "p r", "to", axis=0), node("Reshape", "x to")], {"x": x},
        {"b": ints(0), "e": ints(2), "r": ints(4)}, axes={"x": ["n", "t"]})
    add("heads", [
        node("Shape", "x", "s", end=2), node("Concat", "s r", "to", axis=0),
        node("Reshape", "x to", "q"), node("Transpose", "q", perm=[0, 2, 1, 3])], {"x": x},
        {"r": ints(2, 2)}, axes={"x": ["n", "t"]})
    add("a size as a number", [
        node("Size", "x", "s"), node("Cast", "s", "f", to=TensorProto.FLOAT),
        node("ReduceSum", "x", "t", keepdims=0), node("Div", "t f")], {"x": x})
    add("rows as a number", [
        node("Shape", "x", "s"), node("Gather", "s i", "g"),
        node("Cast", "g", "f", to=TensorProto.FLOAT), node("Div", "x f")], {"x": x},
        {"i": np.int64(0)}, axes=BATCH)
    add("zeros for each row", [
        node("Shape", "x", "s"), node("Slice", "s b e", "h"), node("Concat", "h r", "to", axis=0),
        node("ConstantOfShape", "to", "z", value=numpy_helper.from_array(np.float32([2]))),
        node("Concat", "x z", axis=2)], {"x": x}, {"b": ints(0), "e": ints(2), "r": ints(3)},
        axes=BATCH)
    add("a token before others", [
        node("Shape", "x", "s"), node("Gather", "s i", "g"), node("Unsqueeze", "g z", "u"),
        node("Concat", "u r", "to", axis=0), node("Expand", "token to", "e"),
        node("Concat", "e x", axis=1)], {"x": x},
        {"i": np.int64(0), "z": ints(0), "r": ints(1, 4), "token": draw(1, 1, 4, seed=9)},
        axes=BATCH)
    add("positions", [
        node("Shape", "x", "s"), node("Gather", "s i", "g"), node("Range", "n g one", "r"),
        node("Gather", "table r", "p"), node("Add", "x p")], {"x": x},
        {"i": np.int64(1), "n": np.int64(0), "one": np.int64(1), "table": draw(600, 4)},
        axes={"x": ["n", "t"]})
    for value in ({"value_float": 2.5}, {"value_floats": [1.0, 2.0, 3.0, 4.0]},
                  {"value": numpy_helper.from_array(draw(4))}):
        add(f"Constant {list(value)[0]}", [node("Constant", "", "c", **value),
                                           node("Add", "x c")], {"x": x}, axes=BATCH)
    add("Constant integers", [node("Constant", "", "c", value_ints=[0, 12]),
                              node("Reshape", "x c")], {"x": x}, axes=BATCH)
    add("Constant integer", [node("Constant", "", "c", value_int=1),
                             node("Gather", "x c", axis=1)], {"x": x}, axes=BATCH)


def indices(add):
    x = draw(3, 4, 5)
    places = {"i": ints(0, 2, 1)}
    add("Gather", [node("Gather", "x i")], {"x": x}, places)
    add("Gather along 1", [node("Gather", "x i", axis=1)], {"x": x}, places, axes=BATCH)
    add("Gather one", [node("Gather", "x i", axis=2)], {"x": x}, {"i": np.int64(-1)}, axes=BATCH)
    add("Gather negative", [node("Gather", "x i", axis=1)], {"x": x},
        {"i": np.array([[-1, 0], [2, -4]], np.int32)}, axes=BATCH)
    add("Gather of a table", [node("Gather", "w x")], {"x": np.array([[1, 0], [2, 2]])},
        {"w": draw(3, 4)}, axes=BATCH)
    for dtype in np.float16, np.float64:
        add(f"Gather of a table of {dtype.__name__}", [node("Gather", "w x")],
            {"x": np.array([[1, 0], [2, 2]])}, {"w": draw(3, 4).astype(dtype)}, axes=BATCH)
    add("Gather computed", [node("Gather", "x i", axis=1)],
        {"x": x, "i": np.array([1, -1])})
    add("GatherElements", [node("GatherElements", "x i", axis=2)], {"x": x},
        {"i": np.random.default_rng(1).integers(-5, 5, (3, 4, 2))})
    add("GatherElements computed", [node("GatherElements", "x i", axis=1)],
        {"x": x, "i": np.random.default_rng(1).integers(0, 4, (3, 2, 5))})
    add("GatherND", [node("GatherND", "x i")], {"x": x}, {"i": np.array([[0, 1], [2, -1]])})
    add("GatherND one", [node("GatherND", "x i")], {"x": x}, {"i": np.array([[0], [2]])})
    add("GatherND computed", [node("GatherND", "x i")],
        {"x": x, "i": np.array([[[0, 1, 2]], [[2, 3, 4]]])})
    for name, options in (("", {}), ("with add", {"reduction": "add"}),
                          ("with mul", {"reduction": "mul"}), ("with max", {"reduction": "max"})):
        add("ScatterND " + name, [node("ScatterND", "x i u", **options)],
            {"x": x, "u": draw(2, 5, seed=7)}, {"i": np.array([[0, 1], [2, -1]])})
        add("ScatterElements " + name, [node("ScatterElements", "x i u", axis=1, **options)],
            {"x": x, "u": draw(3, 2, 5, seed=7)},
            {"i": np.stack([np.full((3, 5), 2), np.full((3, 5), -4)], 1)})
    add("GatherND counted from the end", [node("GatherND", "x i")],
        {"x": x, "i": np.array([[-1, 0], [2, -4]])}, axes=BATCH)
    for axes in BATCH, {"x": ["n", "t"]}, None:
        add(f"ScatterND counted from the end {axes}", [node("ScatterND", "x i u")],
            {"x": x, "i": np.array([[-1, 0], [0, -4]]), "u": draw(2, 5, seed=7)}, axes=axes)
        add(f"ScatterND of constants {axes}", [node("ScatterND", "x i u")], {"x": x},
            {"i": np.array([[-1, 0], [0, -4]]), "u": draw(2, 5, seed=7)}, axes=axes)
    add("ScatterElements counted from the end", [node("ScatterElements", "x i u", axis=1)],
        {"x": x, "i": np.full((3, 1, 5), -3), "u": draw(3, 1, 5, seed=7)})
    for name, values in (("infinite", np.array([-np.inf, 0], np.float32)),
                         ("nan", np.array([np.nan, 1], np.float32)),
                         ("far apart", np.array([-1e9, 1], np.float32)),
                         ("half", np.array([0.5, -np.inf], np.float16)),
                         ("small", ints(7, 9)), ("large", ints(7, 2**53 + 1))):
        add("OneHot " + name, [node("OneHot", "x d v")], {"x": np.array([[0, 2], [-1, 9]])},
            {"d": np.int64(3), "v": values}, axes=BATCH)
    add("OneHot of floats", [node("OneHot", "x d v")],
        {"x": np.array([0, 1.5, -1, -0.5], np.float32)},
        {"d": np.float32(3), "v": np.array([0, 1], np.float32)})
    for axis in -1, 0, 1:
        add(f"OneHot {axis}", [node("OneHot", "x d v", axis=axis)],
            {"x": np.array([[0, 2, -1], [1, 7, 1]])},
            {"d": np.int64(3), "v": np.array([-1, 5], np.float32)})
    add("OneHot of integers", [node("OneHot", "x d v")], {"x": np.array([0, 2, 1])},
        {"d": ints(3), "v": ints(0, 1)})


def products(add):
    x, deep = draw(2, 4), draw(2, 3, 4)
    add("MatMul", [node("MatMul", "x w")], {"x": x}, {"w": draw(4, 5)}, axes=BATCH)
    add("MatMul deep", [node("MatMul", "x w")], {"x": deep}, {"w": draw(4, 5)},
        axes={"x": ["n", "t"]})
    add("MatMul with a bias", [node("MatMul", "x w", "p"), node("Add", "b p")], {"x": deep},
        {"w": draw(4, 5), "b": draw(5)}, axes=BATCH)
    add("MatMul read twice", [node("MatMul", "x w", "p"), node("Add", "p b", "q"),
                              node("Mul", "p q")], {"x": deep},
        {"w": draw(4, 5), "b": draw(5)}, axes=BATCH)
    add("MatMul of a constant", [node("MatMul", "w x")], {"x": deep}, {"w": draw(5, 3)}, axes=BATCH)
    add("MatMul of two", [node("MatMul", "x z")], {"x": deep, "z": draw(2, 4, 3)})
    add("MatMul of vectors", [node("MatMul", "x w")], {"x": deep}, {"w": draw(4)}, axes=BATCH)
    add("MatMul many", [node("MatMul", "x w")], {"x": deep}, {"w": draw(2, 4, 5)})
    for name, inputs, weights, options in (
            ("", "x w c", {"w": draw(4, 5), "c": draw(5)}, {}),
            ("without a bias", "x w", {"w": draw(4, 5)}, {}),
            ("transposed", "x w c", {"w": draw(5, 4), "c": draw(5)}, {"transB": 1}),
            ("scaled", "x w c", {"w": draw(4, 5), "c": draw(1, 5)}, {"alpha": 0.5, "beta": 2.0}),
            ("of a number", "x w c", {"w": draw(4, 5), "c": np.float32(2)}, {}),
            ("of a matrix", "x w c", {"w": draw(4, 5), "c": draw(2, 5)}, {"beta": 0.5})):
        for opset in 11, 18:
            add(f"Gemm {opset} {name}", [node("Gemm", inputs, **options)], {"x": x}, weights,
                opset=opset, axes=None if name == "of a matrix" else BATCH)
    add("Gemm of two", [node("Gemm", "x z", transA=1)], {"x": x, "z": draw(2, 3)})
    add("Gemm with an Add", [node("Gemm", "x w", "p"), node("Add", "p b")], {"x": x},
        {"w": draw(4, 5), "b": draw(5)}, axes=BATCH)
    add("shared weights", [node("MatMul", "x w", "p"), node("MatMul", "z w", "q"),
                           node("Sub", "p q")], {"x": x, "z": draw(2, 4, seed=9)},
        {"w": draw(4, 5)}, axes={"x": ["n"], "z": ["n"]})
    add("Einsum", [node("Einsum", "x z", equation="bij, bjk -> bik")],
        {"x": deep, "z": draw(2, 4, 3)}, opset=12)
    add("Einsum weights", [node("Einsum", "x w", equation="bti,io->bto")], {"x": deep},
        {"w": draw(4, 5)}, opset=12, axes=BATCH)
    add("Einsum trace", [node("Einsum", "x", equation="ii->i")], {"x": draw(3, 3)}, opset=12)


def add_to(cases):
    for part in (elementwise, activations, reductions, shapes, indices, products):
        part(cases.add)
