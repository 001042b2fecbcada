# SPDX-License-Identifier: Apache-2.0
"""NumPy's printing and indexing."""

import common
import numpy as np


def array_cases():
    f32 = np.float32
    yield "empty", np.zeros((0,), f32), {}
    yield "empty_axis", np.zeros((2, 0, 3), f32), {}
    for value in (0.0, -0.0, 1.0, 1.5, 0.1, 1e-4, 1e-5, 12345678.0, 1e16, -3e20, np.nan, -np.inf):
        yield f"scalar_{value}", f32(value), {}
        yield f"scalar64_{value}", np.float64(value), {}
        yield f"one_{value}", np.array([value], f32), {}
    for value in (999999.0, 1e6, 1234567.0, 0.00012):
        yield f"scalar_edge_{value}", f32(value), {}
        yield f"one_edge_{value}", np.array([value, 1.0], f32), {}
    for value in (999.0, 1000.0, 0.0001, 0.00005):
        yield f"scalar_half_{value}", np.float16(value), {}
        yield f"one_half_{value}", np.array([value], np.float16), {}
    yield "scalar_int", np.int32(-7), {}
    yield "scalar_bool", np.bool_(True), {}
    yield "scalar_half", np.float16(0.1), {}
    yield "whole", np.array([1, 2, 3], f32), {}
    yield "mixed", np.array([1, 2.5, -3.25], f32), {}
    yield "thirds", (np.arange(6, dtype=f32) / 3).reshape(2, 3), {}
    yield "thirds64", (np.arange(6) / 3).reshape(2, 3), {}
    yield "halves", (np.arange(6, dtype=np.float16) / 7).reshape(2, 3), {}
    yield "large_ratio", np.array([1e-3, 5.0, 1000.5], f32), {}
    yield "large", np.array([1e8, 1.0], f32), {}
    yield "just_below", np.array([99999999.0, 100.0]), {}
    yield "small", np.array([1e-5, 2e-5], f32), {}
    yield "exponents", np.array([1e-100, 1e100, -2.5e7]), {}
    yield "exponent3", np.array([1.5e-300, 0.0]), {}
    yield "zeros", np.zeros((2, 2), f32), {}
    yield "negative_zero", np.array([-0.0, 0.0], f32), {}
    yield "nan", np.array([np.nan, 1.0, -2.0], f32), {}
    yield "infinities", np.array([np.inf, -np.inf, 1.0], f32), {}
    yield "only_nan", np.array([np.nan, np.nan], f32), {}
    yield "nan_short", np.array([np.nan, 5.0], f32), {}
    yield "infinity_exponent", np.array([np.inf, 1e-9, 12.0], f32), {}
    yield "only_infinity", np.array([-np.inf, np.inf], f32), {}
    yield "ints", np.array([[1, -20], [300, 4]], np.int32), {}
    yield "bytes", np.array([0, 255, 17], np.uint8), {}
    yield "int64", np.array([-(2**62), 5], np.int64), {}
    yield "bools", np.array([[True, False], [False, False]]), {}
    yield "all_true", np.array([True, True]), {}
    yield "cube", np.arange(24, dtype=np.int32).reshape(2, 3, 4), {}
    yield "four_axes", np.arange(16, dtype=f32).reshape(2, 2, 2, 2), {}
    yield "long_row", np.arange(60, dtype=f32), {}
    yield "long_rows", np.arange(120, dtype=f32).reshape(3, 40) / 7, {}
    yield "long_ints", np.arange(100, dtype=np.int32) * 1000, {}
    yield "long_bools", np.arange(50) % 3 == 0, {}
    yield "summarized", np.arange(1001, dtype=np.int32), {}
    yield "not_summarized", np.arange(1000, dtype=np.int32), {}
    yield "summarized_rows", np.arange(2000, dtype=f32).reshape(40, 50), {}
    yield "summarized_cube", np.arange(1100, dtype=np.int32).reshape(11, 4, 25), {}
    yield "summarized_first", np.arange(1200, dtype=f32).reshape(300, 4), {}
    yield "tail_unseen", np.concatenate([[1e9], np.ones(1), np.ones(1200)])[::-1].astype(f32), {}
    rng = common.start("printing")
    for scale in (1e-6, 1e-3, 1.0, 1e4, 1e9):
        values = rng.standard_normal((3, 5)) * scale
        yield f"normal_{scale}", values.astype(f32), {}
        yield f"normal64_{scale}", values, {}
        yield f"normal_half_{scale}", (values / scale).astype(np.float16), {}
        yield f"digits3_{scale}", values.astype(f32), {"precision": 3}
        yield f"suppress_{scale}", values.astype(f32), {"suppress": True, "precision": 4}
    yield "precision_zero", np.array([0.5, 1.5, 2.5, 100.25], f32), {"precision": 0}
    yield "precision_many", np.array([0.1, 1 / 3]), {"precision": 20}
    yield "edges_one", np.arange(30, dtype=f32), {"threshold": 5, "edge_items": 1}
    yield "edges_matrix", np.arange(64, dtype=f32).reshape(8, 8), {"threshold": 5, "edge_items": 2}
    yield "edges_zero", np.arange(9, dtype=np.int32), {"threshold": 5, "edge_items": 0}
    yield "narrow", np.arange(20, dtype=f32), {"line_width": 20}
    yield "very_narrow", np.arange(5, dtype=f32), {"line_width": 1}
    yield "wide", np.arange(60, dtype=f32), {"line_width": 200}


def print_case(name, value, given):
    options = {"precision": 8, "threshold": 1000, "edge_items": 3, "line_width": 75, "suppress": False}
    options |= given
    with np.printoptions(
        precision=options["precision"],
        threshold=options["threshold"],
        edgeitems=options["edge_items"],
        linewidth=options["line_width"],
        suppress=options["suppress"],
    ):
        text = str(value)
    case = common.tensor(value) | {"options": options, "text": text}
    return {"name": f"print_{name}"} | case


def index_cases():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    full, new, rest = slice(None), np.newaxis, ...
    yield "first", x, (0,)
    yield "last", x, (-1,)
    yield "one", x, (1, -2, 3)
    yield "column", x, (full, 1)
    yield "last_axis", x, (rest, -1)
    yield "middle", x, (1, rest, 0)
    yield "only_ellipsis", x, (rest,)
    yield "range", x, (full, slice(1, 3))
    yield "from", x, (full, slice(1, None))
    yield "up_to", x, (full, slice(-1))
    yield "from_end", x, (full, full, slice(-3, -1))
    yield "steps", x, (full, slice(None, None, 2), slice(1, None, 2))
    yield "reverse", x, (slice(None, None, -1),)
    yield "reverse_steps", x, (full, slice(None, None, -2), slice(3, 0, -1))
    yield "reverse_part", x, (full, slice(-1, -3, -1), slice(10, None, -3))
    yield "beyond", x, (slice(0, 100), slice(-100, 2), slice(2, 1))
    yield "nothing", x, (slice(5, 9),)
    yield "new_first", x, (new,)
    yield "new_last", x, (rest, new)
    yield "new_between", x, (full, new, 1, new)
    yield "taken", x, (np.array([1, 0, 1, -1]),)
    yield "taken_axis", x, (full, np.array([[2, -1], [0, 0]]))
    yield "taken_last", x, (rest, np.array([3, 0]))
    yield "taken_none", x, (full, np.zeros((0,), np.int32))
    yield "taken_pairs", x, (np.array([0, 1, -1]), np.array([2, -3, 0]))
    yield "taken_three", x, (np.array([0, 1]), np.array([2, 1]), np.array([3, -4]))
    yield "taken_grid", x, (np.array([[0], [1]]), np.array([[2, 1, 0]]))
    yield "taken_tail", x, (full, np.array([0, 2]), np.array([1, 3]))
    yield "taken_apart", x, (np.array([0, 1, 1]), full, np.array([1, 2, -1]))
    yield "taken_number", x, (full, 1, np.array([0, 3]))
    yield "taken_number_apart", x, (0, full, np.array([0, 3]))
    yield "taken_slices", x, (slice(None, None, -1), np.array([0, 2]), slice(1, 3))
    yield "taken_new", x, (np.array([0, 1]), new, full, np.array([1, 2]))
    yield "taken_new_after", x, (full, np.array([0, 1]), new)
    yield "taken_new_before", x, (new, np.array([[0, 1]]), slice(0, 2))
    yield "mask_all", x, (x % 5 > 2,)
    yield "mask_rows", x, (np.array([False, True]),)
    yield "mask_axis", x, (full, np.array([True, False, True]))
    yield "mask_axes", x, (x[:, :, 0] > 4,)
    yield "mask_later", x, (full, x[0] > 5)
    yield "mask_none", x, (x > 100,)
    yield "mask_and_number", x, (np.array([True, True]), 1)
    yield "mask_and_slice", x, (np.array([True, False]), slice(0, 2))


def encode(entry):
    if isinstance(entry, slice):
        return {"slice": [entry.start, entry.stop, 1 if entry.step is None else entry.step]}
    if entry is np.newaxis:
        return "newaxis"
    if entry is ...:
        return "ellipsis"
    return {"tensor": common.tensor(entry)} if isinstance(entry, np.ndarray) else entry


def index_case(name, x, key):
    result = x[key]
    cotangent = np.arange(1, result.size + 1, dtype=np.float32).reshape(result.shape)
    gradient = np.zeros_like(x)
    np.add.at(gradient, key, cotangent)
    return {
        "name": f"index_{name}",
        "x": common.tensor(x),
        "key": [encode(entry) for entry in key],
        "result": common.tensor(result),
        "gradient": common.tensor(gradient),
    }


def make():
    return [print_case(*case) for case in array_cases()] + [
        index_case(*case) for case in index_cases()
    ]
