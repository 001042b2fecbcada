# SPDX-License-Identifier: Apache-2.0
"""Models whose nodes compute with the sizes of open axes, for onnx_models.py: each is run at sizes
beyond those assumed during import, and at small ones."""

import numpy as np
from onnx import numpy_helper
from onnx_operators import draw, ints, node

SIZES = 1, 2, 5, 7, 9, 33, 40, 300, 600
ROWS = {"x": ["n", "t"]}
ZERO, ONE, END = ints(0), ints(1), ints(2**63 - 1)


def constant_of(value, inputs, output):
    return node("ConstantOfShape", inputs, output, value=numpy_helper.from_array(np.array([value])))


# The size of the second axis, as a vector of one element and as a scalar.
SIZE = [node("Shape", "x", "t", start=1, end=2), node("Squeeze", "t", "size")]
# 0, 1, 2 ... along that axis.
PLACES = [*SIZE, node("Range", "none size unit", "places")]
NUMBERS = {"none": np.int64(0), "unit": np.int64(1)}


def both():
    """Indices as rows and as columns, and their difference."""
    return [*PLACES, node("Unsqueeze", "places one", "rows"),
            node("Unsqueeze", "places zero", "columns"), node("Sub", "rows columns", "d")]


def at_sizes(add, name, nodes, weights=None, sizes=SIZES, unread=None, axes=None, **options):
    for size in sizes:
        add(f"{name}, {size}", nodes, {"x": draw(2, size)}, {"zero": ZERO, "one": ONE, "end": END,
                                                           **NUMBERS, **(weights or {})},
            axes=axes or ROWS, unread=unread, **options)


def to_sum(value):
    """Adds a number of any dtype to x."""
    return [node("Cast", value, "number", to=1), node("Add", "x number")]


def parts(add):
    for begin, stop, sizes in ((0, 4, (4, 5, 600)), (2, 4, (4, 9)), (-1, 2**63 - 1, (1, 5, 600)),
                               (1, 2**31 - 1, (1, 5, 600)), (0, -1, (1, 5, 600)),
                               (-3, -1, (3, 600))):
        at_sizes(add, f"part {begin} to {stop}", [node("Slice", "x from to one")],
                 {"from": ints(begin), "to": ints(stop)}, sizes)
    for begin, stop in (0, 1000), (-30, 2**63 - 1), (30, 2**63 - 1), (0, -30), (-1000, 1000):
        at_sizes(add, f"part {begin} to {stop}", [node("Slice", "x from to one")],
                 {"from": ints(begin), "to": ints(stop)}, (5,), "Slice")
    at_sizes(add, "all but the last, by size", [
        *SIZE, node("Sub", "t one", "to"), node("Slice", "x zero to one")], sizes=(1, 5, 600))
    at_sizes(add, "up to one more than the size", [
        *SIZE, node("Add", "t one", "to"), node("Slice", "x zero to one")])
    at_sizes(add, "at most 512", [
        *SIZE, node("Min", "t most", "to"), node("Slice", "x zero to one")], {"most": ints(512)},
        (5,), "Slice")
    for begin, stop in (-2, 1), (3, -2):
        at_sizes(add, f"part {begin} to {stop}", [node("Slice", "x from to one")],
                 {"from": ints(begin), "to": ints(stop)}, (2, 5), "Slice")
    at_sizes(add, "none of it", [node("Slice", "x from to one")],
             {"from": ints(4), "to": ints(2)}, (5, 600))
    for name, inputs in ("from", "x bound end one"), ("to", "x zero bound one"):
        at_sizes(add, f"part {name} 5 less the size", [
            *SIZE, node("Sub", "five t", "bound"), node("Slice", inputs)], {"five": ints(5)},
            (3, 5, 9), "Slice")
    at_sizes(add, "as many as there were, of the end", [
        *SIZE, node("Concat", "before x", "c", axis=1), node("Neg", "t", "from"),
        node("Slice", "c from end one")], {"before": draw(2, 3, seed=4)}, axes={"x": [None, "t"]})
    at_sizes(add, "a half", [*SIZE, node("Div", "t two", "to"), node("Slice", "x zero to one")],
             {"two": ints(2)}, (5,), "Slice")
    at_sizes(add, "as much as whole blocks", [
        *SIZE, node("Div", "t four", "blocks"), node("Mul", "blocks four", "to"),
        node("Slice", "x zero to one")], {"four": ints(4)}, (5,), "any")


def numbers(add):
    for name, nodes, weights in (
            ("is 1", [node("Equal", "size unit", "v")], {}),
            ("is below 100", [node("Less", "size most", "v")], {"most": np.int64(100)}),
            ("is at least 0", [node("GreaterOrEqual", "size none", "v")], {}),
            ("rest", [node("Mod", "size four", "v")], {"four": np.int64(4)}),
            ("at most 7", [node("Min", "size most", "v")], {"most": np.int64(7)}),
            ("at least 7", [node("Max", "size most", "v")], {"most": np.int64(7)}),
            ("hundreds", [node("Div", "size most", "v")], {"most": np.int64(100)}),
            ("root", [node("Cast", "size", "f", to=1), node("Sqrt", "f", "g"),
                      node("Reciprocal", "g", "v")], {})):
        at_sizes(add, f"the size {name}", [*SIZE, *nodes, *to_sum("v")], weights)
    at_sizes(add, "expanded to a shape with -1", [
        node("Shape", "x", "s"), node("Equal", "s less", "is"), node("Shape", "s", "two"),
        constant_of(np.int64(1), "two", "ones"), node("Where", "is ones s", "to"),
        node("Expand", "row to", "e"), node("Add", "x e")], {"less": ints(-1), "row": draw(1, 1)})
    at_sizes(add, "a choice by the size", [
        *SIZE, node("Equal", "size unit", "one_step"), node("Neg", "x", "negative"),
        node("Where", "one_step negative x")])


def tables(add):
    odd = np.arange(600).astype(np.int64) % 37
    at_sizes(add, "numbers of a table", [
        *SIZE, node("Slice", "table zero t zero", "v"), *to_sum("v")], {"table": odd})
    at_sizes(add, "a table's end up to the size", [
        *SIZE, node("Slice", "table from t zero", "v"), *added("v")],
        {"table": odd, "from": ints(-3)}, (5, 600), "Slice")
    at_sizes(add, "one of a table by the size", [
        *SIZE, node("Sub", "size unit", "last"), node("Gather", "table last", "v"), *to_sum("v")],
        {"table": odd})
    at_sizes(add, "numbers of a table by places", [
        *PLACES, node("Gather", "table places", "v"), *to_sum("v")], {"table": odd})
    seen = np.tril(np.ones((600, 600), bool))
    seen[50:, :10] = False
    at_sizes(add, "a mask that changes further on", [
        *SIZE, node("Slice", "seen zero t zero", "r"), node("Slice", "r zero t one", "m"),
        node("Unsqueeze", "x one", "u"), node("Where", "m u never", "w"),
        node("ReduceMax", "w last", "y", keepdims=0)],
        {"seen": seen, "never": np.float32(-9), "last": ints(-1)})
    at_sizes(add, "rotary angles", [
        *PLACES, node("Cast", "places", "p", to=1), node("Unsqueeze", "p one", "column"),
        node("Mul", "column speeds", "angles"), node("Cos", "angles", "c"),
        node("Unsqueeze", "x last", "u"), node("Mul", "u c")],
        {"speeds": np.float32([1, 0.1, 0.01]), "last": ints(-1)}, tolerance=1e-4)


def masks(add):
    for name, nodes, weights in (
            ("causal", [node("LessOrEqual", "columns rows", "m")], {}),
            ("strictly causal", [node("Less", "columns rows", "m")], {}),
            ("causal by difference", [node("GreaterOrEqual", "d none", "m")], {}),
            ("of a window of 30", [node("Less", "d most", "m")], {"most": np.int64(30)}),
            ("causal, of a window of 30", [
                node("Less", "d most", "near"), node("GreaterOrEqual", "d none", "past"),
                node("And", "near past", "m")], {"most": np.int64(30)}),
            ("causal but for 3 steps", [node("LessOrEqual", "d most", "m")],
             {"most": np.int64(-3)}),
            ("of the diagonal", [node("Equal", "rows columns", "m")], {}),
            ("of all", [node("Less", "columns size", "c"), node("LessOrEqual", "none rows", "r"),
                        node("And", "c r", "m")], {})):
        at_sizes(add, f"a mask {name}", [
            *both(), *nodes, node("Unsqueeze", "x one", "u"), node("Where", "m u never", "w"),
            node("ReduceSum", "w last", "y", keepdims=0)],
            {"never": np.float32(0.25), "last": ints(-1), **weights}, tolerance=1e-4)


def added(value):
    """Sums a vector, and adds the sum to x."""
    return [node("ReduceSum", value, "total", keepdims=0), *to_sum("total")]


def ranges(add):
    """Parts of index ranges, and ranges that begin or end at a size."""
    for begin, stop in (30, 2**63 - 1), (0, 5), (-5, 2**63 - 1), (0, -30), (1, 2**63 - 1), (0, -1):
        at_sizes(add, f"places from {begin} to {stop}", [
            *PLACES, node("Slice", "places from to", "v"), *added("v")],
            {"from": ints(begin), "to": ints(stop)}, *known_of(begin, stop))
    at_sizes(add, "a range from 30", [
        *SIZE, node("Range", "most size unit", "v"), *added("v")], {"most": np.int64(30)},
        unread="Range")
    at_sizes(add, "a range to 5", [
        *SIZE, node("Range", "size most unit", "v"), *added("v")], {"most": np.int64(5)},
        unread="Range")
    at_sizes(add, "a range from the size on", [
        *SIZE, node("Add", "size most", "to"), node("Range", "size to unit", "v"), *added("v")],
        {"most": np.int64(5)})
    at_sizes(add, "a range of floats", [
        *SIZE, node("Cast", "size", "to", to=1), node("Range", "begin to step", "v"), *added("v")],
        {"begin": np.float32(0), "step": np.float32(1)}, tolerance=1e-4)
    at_sizes(add, "a range of floats from a half", [
        *SIZE, node("Cast", "size", "to", to=1), node("Range", "begin to step", "v"), *added("v")],
        {"begin": np.float32(0.5), "step": np.float32(1)}, unread="Range")
    at_sizes(add, "half a range of floats", [
        *SIZE, node("Cast", "size", "to", to=1), node("Range", "begin to step", "v"), *added("v")],
        {"begin": np.float32(0), "step": np.float32(0.5)}, unread="Range")
    for kind, dtype in (2, "uint8"), (3, "int8"), (10, "float16"), (6, "int32"):
        at_sizes(add, f"places of {dtype}", [
            *PLACES, node("Cast", "places", "p", to=kind), node("Cast", "p", "v", to=1),
            *added("v")], tolerance=1e-4, sizes=(5, 140, 300))
        at_sizes(add, f"a size of {dtype}", [*SIZE, node("Cast", "size", "v", to=kind), *to_sum("v")],
                 sizes=(5, 140, 300))


def known_of(begin, stop):
    """Returns the sizes, and what rejects others: parts that may reach beyond an axis."""
    if begin in (30, -5) or stop in (-30,):
        return ((40,), "any") if begin != -5 else ((5, 40),)
    return ((5, 40, 600) if stop == 5 else SIZES,)


def triangles(add):
    for upper in 0, 1:
        for k in -30, -1, 0, 1, 30:
            at_sizes(add, f"Trilu {upper} {k}", [
                *SIZE, node("Concat", "t t", "tt", axis=0), constant_of(np.float32(1), "tt", "ones"),
                node("Trilu", "ones k", "m", upper=upper), node("Unsqueeze", "x one", "u"),
                node("Mul", "m u", "w"), node("ReduceSum", "w last", "y", keepdims=0)],
                {"k": np.int64(k), "last": ints(-1)}, tolerance=1e-3)


def quotients(add):
    for name, nodes, weights in (
            ("1.01 times, floor", [node("Mul", "f factor", "g"), node("Floor", "g", "v")],
             {"factor": np.float32(1.01)}),
            ("0.96 times, cast", [node("Mul", "f factor", "g"), node("Cast", "g", "v", to=7)],
             {"factor": np.float32(0.96)}),
            ("33 / 32", [node("Mul", "size n", "g"), node("Div", "g d", "v")],
             {"n": np.int64(33), "d": np.int64(32)}),
            ("99 / 100", [node("Mul", "size n", "g"), node("Div", "g d", "v")],
             {"n": np.int64(99), "d": np.int64(100)}),
            ("- 5 > 0", [node("Sub", "size d", "g"), node("Greater", "g none", "v")],
             {"d": np.int64(5)})):
        at_sizes(add, f"the size {name}", [
            *SIZE, node("Cast", "size", "f", to=1), *nodes, *to_sum("v")], weights)
    for name, last in ("> 0", node("Greater", "g none", "v")), ("as a truth",
                                                             node("Cast", "g", "v", to=9)):
        at_sizes(add, f"half of the size {name}", [
            *SIZE, node("Div", "size two", "g"), last, *to_sum("v")], {"two": np.int64(2)}, (1, 5),
            unread=last.op_type)
    kernel = {"k": draw(1, 1, 3), "d": ints(4)}
    picture = [node("Unsqueeze", "x one", "u"), *SIZE, node("Conv", "u k", "c", strides=[4]),
               node("Div", "t d", "quarter")]
    for size in 7, 12, 40, 43:
        at_sizes(add, "a quarter of the size where strides are 4", [
            *picture, node("Slice", "c zero quarter last")], {"last": ints(2), **kernel}, (size,),
            "any")
        at_sizes(add, "as many as strides leave", [
            *picture, node("Shape", "c", "s", start=2), node("Squeeze", "s", "steps"),
            node("Range", "none steps unit", "places"), node("Cast", "places", "p", to=1),
            node("Add", "c p")], kernel, (size,))
    for size in 300, 301, 600:
        at_sizes(add, "as many as long windows leave", [
            node("Unsqueeze", "x one", "u"), node("Conv", "u k", "c", strides=[5]),
            node("Shape", "c", "s", start=2), node("Squeeze", "s", "steps"),
            node("Range", "none steps unit", "places"), node("Cast", "places", "p", to=1),
            node("Add", "c p")], {"k": draw(1, 1, 80)}, (size,), tolerance=1e-4)
    # Only even sizes, of which whole blocks are taken.
    for height in 8, 10, 40:
        add(f"blocks of even pictures, {height}", [
            node("Shape", "x", "s", start=2, end=3), node("Div", "s eight", "b"),
            node("Mul", "b eight", "to"), node("Slice", "x zero to two", "c"),
            node("ReduceSum", "c all", "r", keepdims=0), node("Reshape", "x halves", "h"),
            node("ReduceSum", "h all", "t", keepdims=0), node("Add", "r t")],
            {"x": draw(1, 2, height, 8)},
            {"eight": ints(8), "zero": ZERO, "two": ints(2), "all": ints(2, 3),
             "halves": ints(1, 2, -1, 16)}, axes={"x": [None, None, "h"]}, unread="any")


def two_axes(add):
    """Sizes of unrelated axes, which have their values by chance."""
    for t, u in (3, 6), (6, 3), (4, 4), (1, 5):
        inputs = {"x": draw(2, t), "z": draw(2, u, seed=9)}
        axes = {"x": ["n", "t"], "z": ["n", "u"]}
        weights = {"zero": ZERO, "one": ONE, "two": ints(2), **NUMBERS}
        add(f"twice as many of another axis, {t} {u}", [
            *SIZE, node("Mul", "t two", "to"), node("Slice", "z zero to one")], inputs, weights,
            axes=axes, unread="Slice")
        add(f"as many of another axis, {t} {u}", [*SIZE, node("Slice", "z zero t one")], inputs,
            weights, axes=axes, unread="Slice")
        third = {**inputs, "w": draw(2, t + u, seed=3)}
        add(f"the size of a third axis, {t} {u}", [
            node("Shape", "w", "v", start=1), *to_sum("v")], third, weights,
            axes={**axes, "w": ["n", "v"]})
        add(f"the larger of two axes, {t} {u}", [
            *SIZE, node("Shape", "z", "u", start=1, end=2), node("Max", "t u", "m"),
            *to_sum("m")], inputs, weights, axes=axes)
        add(f"the longer of two axes, {t} {u}", [
            *SIZE, node("Shape", "z", "u", start=1, end=2), node("Less", "t u", "m"),
            *to_sum("m")], inputs, weights, axes=axes)


def add_to(cases):
    for part in parts, numbers, tables, masks, ranges, triangles, quotients, two_axes:
        part(cases.add)
