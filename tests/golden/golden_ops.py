# SPDX-License-Identifier: Apache-2.0
"""Operations of keras.ops: results for small inputs, including dtypes."""

import common
import golden_image_ops
import numpy as np
import numpy_backend
from keras import ops

OF_PARTS = {"fft", "fft2", "ifft2", "irfft", "istft"}  # of (real, imaginary)
OF_LISTS = {"dstack", "hstack", "vstack", "meshgrid", "einsum"}


def f32(*values, shape=None):
    array = np.array(values, "float32")
    return array if shape is None else array.reshape(shape)


def i32(*values, shape=None):
    array = np.array(values, "int32")
    return array if shape is None else array.reshape(shape)


def numbers(seed, *shape):
    return common.normal(np.random.default_rng(seed), shape, 2.0)


NAN, INF = float("nan"), float("inf")
EDGES = f32(-2.5, -1.5, -1, -0.5, -0.0, 0, 0.25, 0.5, 1, 1.5, 2.5)
SPECIAL = f32(NAN, INF, -INF, 0, 1, -1)
LARGE = f32(-1e20, -1e9, -30, 30, 1e9, 1e20)
MATRIX = numbers(1, 3, 4)
CUBE = numbers(2, 2, 3, 4)
SQUARE = numbers(3, 2, 3, 3) + 4 * np.eye(3, dtype="float32")
POSITIVE = (SQUARE @ SQUARE.transpose(0, 2, 1)).astype("float32")
WITH_NAN = f32(1, NAN, 3, 4, 5, NAN, NAN, 8, NAN, NAN, 11, 12, shape=(3, 4))
INTS = i32(5, -3, 0, 7, 12, -8)
BOOLS = np.array([True, False, True, True])

UNARY = {
    "trunc": EDGES, "fabs": EDGES, "exp2": EDGES, "cbrt": EDGES, "deg2rad": EDGES,
    "rad2deg": EDGES, "arcsinh": EDGES, "erfc": np.concatenate([EDGES, f32(4, 9)]),
    "arccosh": f32(1, 1.001, 2, 50, 1e9, 1e20), "arctanh": f32(-0.99, -0.5, 0, 0.25, 0.999),
    "sinc": EDGES, "signbit": EDGES, "isposinf": SPECIAL, "isneginf": SPECIAL,
    "nan_to_num": SPECIAL, "swish": EDGES, "hard_swish": EDGES, "bitwise_not": INTS,
    "bitwise_invert": INTS, "diagflat": MATRIX, "det": SQUARE, "slogdet": SQUARE,
    "logdet": POSITIVE, "inv": SQUARE, "cholesky": POSITIVE, "cholesky_inverse": POSITIVE,
    "lu_factor": SQUARE[1], "corrcoef": MATRIX, "fliplr": MATRIX, "flipud": MATRIX,
    "matrix_rank": f32(1, 2, 2, 4, shape=(2, 2)), "pinv": MATRIX, "unique": INTS,
    "nonzero": INTS.reshape(2, 3), "norm": MATRIX, "trace": MATRIX, "diagonal": CUBE,
    "median": MATRIX, "ptp": MATRIX, "average": MATRIX, "amax": MATRIX, "amin": MATRIX,
    "bincount": i32(1, 4, 1, 0, 2, 1), "histogram": MATRIX.ravel(), "cumprod": MATRIX, "diff": MATRIX,
    "trapezoid": MATRIX, "vander": f32(1, 2, 3), "nansum": WITH_NAN, "nanprod": WITH_NAN,
    "nanmax": WITH_NAN, "nanmin": WITH_NAN, "nanmean": WITH_NAN, "nanvar": WITH_NAN,
    "nanstd": WITH_NAN, "nanmedian": WITH_NAN, "nanargmax": WITH_NAN, "nanargmin": WITH_NAN,
    "nancumsum": WITH_NAN, "nancumprod": WITH_NAN, "rot90": MATRIX, "tril": CUBE, "triu": CUBE,
    "diag": f32(1, 2, 3), "zeros_like": MATRIX,
}

PAIRS = {
    "hypot": (f32(3, -4, 0, 1e30, INF), f32(4, 3, 0, 1e30, 1)),
    "logaddexp2": (EDGES, EDGES[::-1].copy()), "ldexp": (EDGES, i32(*range(11))),
    "fmod": (f32(5, -5, 5, -5, 7.5), f32(3, 3, -3, -3, 2)),
    "heaviside": (EDGES, np.float32(0.5)), "fmax": (SPECIAL, f32(1, 2, 3, NAN, NAN, -2)),
    "fmin": (SPECIAL, f32(1, 2, 3, NAN, NAN, -2)),
    "bitwise_and": (INTS, i32(3, 5, 6, 1, 2, 7)), "bitwise_or": (INTS, i32(3, 5, 6, 1, 2, 7)),
    "bitwise_xor": (INTS, i32(3, 5, 6, 1, 2, 7)), "left_shift": (INTS, i32(3, 5, 6, 1, 2, 7)),
    "right_shift": (INTS, i32(3, 1, 2, 1, 2, 2)), "inner": (MATRIX, numbers(5, 2, 4)),
    "bitwise_left_shift": (INTS, i32(3, 5, 6, 1, 2, 7)),
    "bitwise_right_shift": (INTS, i32(3, 1, 2, 1, 2, 2)),
    "vdot": (MATRIX, numbers(6, 3, 4)), "kron": (numbers(7, 2, 3), numbers(8, 3, 2)),
    "cross": (numbers(9, 4, 3), numbers(10, 4, 3)), "append": (MATRIX, f32(1, 2)),
    "solve": (SQUARE, numbers(11, 2, 3, 2)), "solve_triangular": (SQUARE, numbers(11, 2, 3, 2)),
    "lstsq": (numbers(12, 5, 3), numbers(13, 5)), "linspace": (np.float32(-1), np.float32(3)),
    "logspace": (np.float32(0), np.float32(2)), "geomspace": (np.float32(1), np.float32(1000)),
    "quantile": (MATRIX, f32(0.1, 0.5, 0.9)), "percentile": (MATRIX, np.float32(30)),
    "nanquantile": (WITH_NAN, f32(0.25, 0.5)), "nanpercentile": (WITH_NAN, np.float32(75)),
    "searchsorted": (f32(1, 2, 2, 5), f32(0, 2, 3, 9)), "digitize": (EDGES, f32(-1, 0, 1)),
    "isin": (INTS, i32(7, 5, 99)), "isclose": (f32(1, 2, 3), f32(1, 2.00001, 3.1)),
    "allclose": (f32(1, 2), f32(1, 2.00001)),
}

# (op, name of the case, inputs, arguments). On TensorFlow, Keras differs from NumPy, and thus from
# its other backends, for rot90 with k=2, vstack of vectors and isclose of infinities; these are
# omitted.
MORE = [
    ("nan_to_num", "given", [SPECIAL], {"nan": 5.0, "posinf": 6.0, "neginf": 7.0}),
    ("isclose", "nan", [f32(NAN, 0, NAN), f32(NAN, 0, 1)], {"equal_nan": True}),
    ("isclose", "wide", [EDGES, EDGES + 0.125], {"rtol": 0.1, "atol": 0.05}),
    ("trunc", "ints", [INTS], {}),
    ("arcsinh", "large", [LARGE], {}),
    ("heaviside", "ints", [INTS, i32(2, 2, 2, 2, 2, 2)], {}),
    ("linspace", "open", [np.float32(0), np.float32(1)], {"num": 4, "endpoint": False}),
    ("linspace", "axis", [f32(0, 1), f32(2, 5)], {"num": 3, "axis": -1}),
    ("linspace", "one", [np.float32(3), np.float32(8)], {"num": 1}),
    ("linspace", "ints", [np.int32(0), np.int32(10)], {"num": 4, "dtype": "int32"}),
    ("logspace", "base", [np.float32(0), np.float32(4)], {"num": 5, "base": 2}),
    ("geomspace", "open", [np.float32(2), np.float32(32)], {"num": 4, "endpoint": False}),
    ("diag", "above", [f32(1, 2, 3)], {"k": 2}),
    ("diag", "below", [f32(1, 2, 3)], {"k": -1}),
    ("diag", "of_matrix", [MATRIX], {"k": 1}),
    ("diagonal", "axes", [CUBE], {"offset": 1, "axis1": 2, "axis2": 1}),
    ("trace", "ints", [i32(*range(12), shape=(3, 4))], {"offset": -1}),
    ("tril", "k", [MATRIX], {"k": -1}),
    ("triu", "k", [MATRIX], {"k": 2}),
    ("tri", "square", [], {"N": 3}),
    ("tri", "wide", [], {"N": 3, "M": 5, "k": 1, "dtype": "int32"}),
    ("identity", "ints", [], {"n": 3, "dtype": "int32"}),
    ("bartlett", "seven", [], {"x": 7}),
    ("blackman", "seven", [], {"x": 7}),
    ("hamming", "eight", [], {"x": 8}),
    ("hanning", "seven", [], {"x": 7}),
    ("cross", "axes", [numbers(14, 3, 5), numbers(15, 5, 3)],
     {"axisa": 0, "axisb": 1, "axisc": 0}),
    ("cross", "two_and_three", [numbers(16, 4, 2), numbers(17, 4, 3)], {}),
    ("cross", "two", [numbers(16, 4, 2), numbers(17, 4, 2)], {}),
    ("roll", "flat", [MATRIX], {"shift": 5}),
    ("roll", "axis", [MATRIX], {"shift": -1, "axis": 1}),
    ("roll", "axes", [MATRIX], {"shift": [1, 2], "axis": [0, 1]}),
    ("rot90", "back", [CUBE], {"k": -1, "axes": [1, 2]}),
    ("append", "axis", [MATRIX, MATRIX], {"axis": 1}),
    ("hstack", "vectors", [f32(1, 2), f32(3)], {}),
    ("hstack", "matrices", [MATRIX, MATRIX], {}),
    ("vstack", "matrices", [MATRIX, MATRIX[:1]], {}),
    ("dstack", "vectors", [f32(1, 2), f32(3, 4)], {}),
    ("dstack", "matrices", [MATRIX, MATRIX], {}),
    ("meshgrid", "xy", [f32(1, 2, 3), f32(4, 5)], {"indexing": "xy"}),
    ("meshgrid", "ij", [f32(1, 2, 3), f32(4, 5), f32(6, 7)], {"indexing": "ij"}),
    ("array_split", "uneven", [numbers(18, 7, 2)], {"indices_or_sections": 3}),
    ("hsplit", "two", [MATRIX], {"indices_or_sections": 2}),
    ("vsplit", "three", [MATRIX], {"indices_or_sections": 3}),
    ("dsplit", "two", [CUBE], {"indices_or_sections": 2}),
    ("unravel_index", "vector", [i32(0, 5, 11, 7)], {"shape": [3, 4]}),
    ("depth_to_space", "two", [numbers(19, 1, 2, 3, 8)], {"block_size": 2}),
    ("space_to_depth", "two", [numbers(20, 1, 4, 6, 2)], {"block_size": 2}),
    ("moveaxis", "several", [CUBE], {"source": [0, 1], "destination": [-1, 0]}),
    ("average", "weights", [MATRIX, np.abs(numbers(21, 3, 4))], {"axis": 1}),
    ("average", "vector", [MATRIX, f32(1, 2, 3)], {"axis": 0}),
    ("average", "ints", [INTS], {}),
    ("median", "axis", [CUBE], {"axis": [0, 2], "keepdims": True}),
    ("median", "nan", [WITH_NAN], {"axis": 1}),
    ("median", "ints", [INTS], {}),
    *[("quantile", method, [CUBE, f32(0, 0.3, 0.5, 1)], {"axis": 1, "method": method})
      for method in ("linear", "lower", "higher", "midpoint", "nearest")],
    ("quantile", "keepdims", [CUBE, f32(0.2, 0.7)], {"axis": [0, 1], "keepdims": True}),
    ("nanquantile", "axis", [WITH_NAN, f32(0.25, 0.5)], {"axis": 1}),
    ("nanmedian", "axis", [WITH_NAN], {"axis": 0}),
    ("histogram", "range", [MATRIX.ravel()], {"bins": 4, "range": [-1, 2]}),
    ("bincount", "weights", [i32(1, 3, 1), f32(0.5, 2, 4)], {"minlength": 6}),
    ("searchsorted", "right", [f32(1, 2, 2, 5), f32(0, 2, 3, 9)], {"side": "right"}),
    ("searchsorted", "ints", [i32(1, 4, 9), i32(0, 1, 5, 10)], {}),
    ("cumprod", "axis", [CUBE], {"axis": 1}),
    ("cumprod", "ints", [i32(1, 2, 3, 4, 5)], {"axis": 0}),
    ("diff", "twice", [CUBE], {"n": 2, "axis": 1}),
    ("diff", "bools", [BOOLS], {}),
    ("trapezoid", "points", [MATRIX, f32(0, 1, 3, 4)], {}),
    ("trapezoid", "axis", [MATRIX], {"dx": 0.5, "axis": 0}),
    ("vander", "increasing", [f32(1, 2, 3)], {"N": 2, "increasing": True}),
    *[(op, "axis", [WITH_NAN], {"axis": 1})
      for op in ("nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd",
                 "nancumsum", "nancumprod")],
    ("nanmax", "nothing", [f32(NAN, NAN, 1, NAN, shape=(2, 2))], {"axis": 1}),
    ("nanargmax", "nothing", [f32(NAN, NAN, 1, NAN, shape=(2, 2))], {"axis": 1}),
    ("nansum", "ints", [INTS], {}),
    ("unique", "all", [i32(3, 1, 3, 2, 1, 1, shape=(2, 3))],
     {"return_index": True, "return_inverse": True, "return_counts": True}),
    ("unique", "unsorted", [f32(3, 1, 3, 2, 1, 1)],
     {"sorted": False, "return_index": True, "return_inverse": True, "return_counts": True}),
    ("unique", "rows", [i32(1, 2, 3, 0, 1, 2, 1, 1, shape=(4, 2))],
     {"axis": 0, "return_inverse": True, "return_counts": True}),
    ("unique", "padded", [i32(3, 1, 3)], {"size": 4, "fill_value": 9, "return_counts": True}),
    ("unique", "cut", [i32(3, 1, 2)], {"size": 2, "return_index": True}),
    ("isin", "inverted", [MATRIX, MATRIX[0]], {"invert": True}),
    ("segment_max", "rows", [CUBE.reshape(6, 4), i32(0, 2, 1, 0, 2, 2)], {"num_segments": 3}),
    ("segment_min", "rows", [CUBE.reshape(6, 4), i32(0, 2, 1, 0, 2, 2)], {"num_segments": 3}),
    ("segment_prod", "rows", [CUBE.reshape(6, 4), i32(0, 2, 1, 0, 2, 2)], {"num_segments": 4}),
    ("scatter", "points", [i32(0, 1, 2, 0, 0, 1, shape=(3, 2)), f32(1, 2, 3)], {"shape": [3, 2]}),
    ("scatter", "rows", [i32(2, 0, shape=(2, 1)), MATRIX[:2]], {"shape": [3, 4]}),
    *[("scatter_update", str(kind), [MATRIX, i32(0, 1, 2, 3, 0, 1, shape=(3, 2)), f32(1, 2, 3)],
       {"reduction": kind}) for kind in ("add", "max", "min", "mul")],
    ("scatter_update", "set", [MATRIX, i32(0, 1, 2, 3, shape=(2, 2)), f32(1, 2)], {}),
    ("scatter_update", "rows", [MATRIX, i32(2, 0, shape=(2, 1)), MATRIX[1:]], {}),
    ("slice_update", "block", [MATRIX, np.ones((2, 2), "float32")], {"start_indices": [1, 2]}),
    ("slice", "block", [MATRIX], {"start_indices": [1, 0], "shape": [2, 3]}),
    ("multi_hot", "batch", [i32(1, 3, 0, 0, shape=(2, 2))], {"num_classes": 4}),
    ("multi_hot", "vector", [i32(2, 0)], {"num_classes": 4}),
    ("one_hot", "floats", [f32(0, 2, 1.7)], {"num_classes": 3}),
    *[("norm", f"vector_{order}", [MATRIX], {"ord": order, "axis": 1})
      for order in (0, 1, 2, 3, "inf", "-inf")],
    *[("norm", f"matrix_{order}", [CUBE], {"ord": order, "axis": [1, 2]})
      for order in ("fro", "nuc", 1, -1, 2, -2, "inf", "-inf")],
    ("norm", "matrix_axes", [CUBE], {"ord": 1, "axis": [2, 0], "keepdims": True}),
    ("cholesky", "upper", [POSITIVE], {"upper": True}),
    ("solve", "vectors", [SQUARE, numbers(22, 2, 3)], {}),
    ("solve_triangular", "lower", [SQUARE, numbers(22, 2, 3)], {"lower": True}),
    ("svd", "values", [CUBE], {"compute_uv": False}),
    ("matrix_rank", "full", [CUBE], {}),
    ("saturate_cast", "to_uint8", [f32(-5, 3.7, 300, 255)], {"dtype": "uint8"}),
    ("saturate_cast", "to_int8", [i32(-500, 3, 300)], {"dtype": "int8"}),
    *[("einsum", f"{i}", inputs, {"subscripts": subscripts})
      for i, (subscripts, *inputs) in enumerate([
          ("ij,kj->ik", MATRIX, numbers(23, 2, 4)), ("bij,bjk->bik", CUBE, numbers(24, 2, 4, 2)),
          ("ij->ji", MATRIX), ("ij->", MATRIX), ("bii->bi", SQUARE), ("bii", SQUARE),
          ("i,j->ij", f32(1, 2), f32(3, 4, 5)), ("...ij,jk->...ik", CUBE, numbers(25, 4, 2)),
          ("ij,jk,kl->il", MATRIX, numbers(26, 4, 2), numbers(27, 2, 3)),
          ("bij,bkj->bikj", CUBE, numbers(28, 2, 2, 4)), ("ab,b", MATRIX, f32(1, 2, 3, 4)),
          ("i...->...", CUBE)])],
]


IMAGES = numbers(30, 2, 4, 6, 3)
MORE += [
    *[("image.resize", f"{method}_{name}", [IMAGES], {"size": size, "interpolation": method,
                                                      "antialias": antialias})
      for method in ("bilinear", "nearest", "bicubic", "lanczos3", "lanczos5")
      for name, size, antialias in (("up", [8, 12], False), ("down", [2, 3], False),
                                    ("smooth", [2, 3], True))],
    ("image.resize", "uneven", [IMAGES[0]], {"size": [3, 5]}),
    ("image.resize", "nearest_uneven", [IMAGES], {"size": [3, 7], "interpolation": "nearest"}),
    ("image.resize", "cropped", [IMAGES], {"size": [4, 4], "crop_to_aspect_ratio": True}),
    ("image.resize", "padded", [IMAGES],
     {"size": [4, 4], "pad_to_aspect_ratio": True, "fill_value": 2.0}),
    ("image.rgb_to_grayscale", "floats", [IMAGES], {}),
    ("image.rgb_to_grayscale", "bytes", [np.arange(18, dtype="uint8").reshape(2, 3, 3) * 14], {}),
    *[("image.affine_transform", f"{method}_{mode}_{name}", [IMAGES, transform],
       {"interpolation": method, "fill_mode": mode, "fill_value": 2.5})
      for method in ("bilinear", "nearest") for mode in ("constant", "nearest", "wrap", "reflect")
      for name, transform in (
          ("moved", f32([1, 0, 2.25, 0, 1, -1.5, 0, 0])),
          ("each", f32([0.8, 0.3, -0.7, -0.4, 1.1, 0.45, 0, 0], [3, 0, -9.3, 0, -4, 7.1, 0, 0])),
          ("perspective", f32([1.1, 0.1, 0.3, 0.2, 0.9, -0.35, 0.07, 0.11])))],
    ("image.affine_transform", "single", [IMAGES[0], f32(1, 0.5, -2, 0.5, 1, -1.6, 0, 0)], {}),
    ("image.affine_transform", "to_infinity", [IMAGES, f32(1, 0, 0, 0, 1, 0, -1, 0)],
     {"fill_value": 7.0}),
    ("image.affine_transform", "bytes",
     [np.arange(48, dtype="uint8").reshape(4, 4, 3) * 5, f32(1, 0, 0.4, 0, 1, 0.7, 0, 0)], {}),
    ("image.affine_transform", "channels_first",
     [numbers(31, 2, 3, 4, 5), f32(0.9, 0, 0.5, 0, 1.2, 0.25, 0, 0)],
     {"data_format": "channels_first", "fill_mode": "reflect"}),
    ("image.extract_patches", "side_by_side", [IMAGES], {"size": 2}),
    ("image.extract_patches", "overlapping", [IMAGES[0]], {"size": [2, 3], "strides": [1, 2]}),
    ("image.extract_patches", "same", [IMAGES],
     {"size": [3, 3], "strides": [2, 2], "padding": "same"}),
    ("image.extract_patches", "dilated", [IMAGES],
     {"size": [2, 2], "strides": [1, 1], "dilation_rate": 2}),
]


PARTS = [numbers(40, 2, 3, 6), numbers(41, 2, 3, 6)]
SIGNAL = numbers(42, 2, 50)
FRAMED = {"sequence_length": 8, "sequence_stride": 3, "fft_length": 12}
BLOCKS = numbers(43, 2, 3, 5, 6)
MORE += [
    ("fft", "even", PARTS, {}), ("fft", "prime", [numbers(44, 7), numbers(45, 7)], {}),
    ("fft", "one", [numbers(44, 3, 1), numbers(45, 3, 1)], {}),
    ("fft2", "plain", PARTS, {}), ("ifft2", "plain", PARTS, {}),
    ("rfft", "even", [CUBE], {}), ("rfft", "odd", [numbers(46, 3, 9)], {}),
    ("rfft", "cut", [SIGNAL], {"fft_length": 16}), ("rfft", "filled", [SIGNAL], {"fft_length": 61}),
    ("irfft", "plain", PARTS, {}), ("irfft", "odd", PARTS, {"fft_length": 11}),
    ("irfft", "cut", PARTS, {"fft_length": 5}), ("irfft", "filled", PARTS, {"fft_length": 16}),
    ("stft", "plain", [SIGNAL], FRAMED),
    ("stft", "odd", [SIGNAL[0]], FRAMED | {"sequence_length": 9, "fft_length": 13,
                                           "window": "hamming"}),
    ("stft", "whole", [SIGNAL], FRAMED | {"window": None, "center": False}),
    ("istft", "plain", [numbers(47, 2, 5, 7), numbers(48, 2, 5, 7)], FRAMED),
    ("istft", "length", [numbers(47, 2, 5, 7), numbers(48, 2, 5, 7)],
     FRAMED | {"length": 9, "window": "hamming"}),
    ("istft", "whole", [numbers(47, 5, 7), numbers(48, 5, 7)],
     FRAMED | {"window": None, "center": False}),
    ("extract_sequences", "plain", [SIGNAL], {"sequence_length": 6, "sequence_stride": 4}),
    ("extract_sequences", "short", [SIGNAL], {"sequence_length": 51, "sequence_stride": 4}),
    ("unfold", "plain", [BLOCKS], {"kernel_size": 2}),
    ("unfold", "all", [BLOCKS], {"kernel_size": [2, 3], "dilation": [2, 1], "padding": [1, 2],
                                 "stride": [1, 2]}),
    ("fold", "plain", [numbers(49, 2, 12, 12)], {"output_size": [4, 5], "kernel_size": 2}),
    ("fold", "all", [numbers(50, 1, 12, 20)],
     {"output_size": [5, 6], "kernel_size": [2, 3], "dilation": [2, 1], "padding": [1, 2],
      "stride": [1, 2]}),
    ("kaiser", "seven", [], {"x": 7, "beta": 4.5}),
    ("psnr", "plain", [MATRIX, MATRIX + 0.25], {"max_val": 2.0}),
    *[("correlate", mode, [numbers(51, 7), numbers(52, 4)], {"mode": mode})
      for mode in ("valid", "same", "full")],
    ("correlate", "shorter", [numbers(51, 3), numbers(52, 6)], {"mode": "same"}),
    ("cdist", "plain", [CUBE, numbers(53, 2, 5, 4)], {}),
    ("gcd", "plain", [i32(12, 18, 0, 7, -8), i32(18, 12, 5, 0, 6)], {}),
    ("gcd", "broadcast", [i32(12, 18, 35), np.int32(6)], {}),
    ("lcm", "plain", [i32(4, 6, 0, 7, -8), i32(6, 4, 5, 0, 6)], {}),
]


LOGITS = numbers(60, 4, 7, 5)
LABELS = i32(1, 2, 2, 3, 0, 0, 4, 4, 1, 1, 2, 3, shape=(4, 3))
LENGTHS, STEPS = i32(3, 1, 3, 2), i32(7, 5, 6, 4)
LAST = [i32(0, 1, 1, 2, 9, 9, 3, 3, 0, 0, 1, 2, shape=(4, 3)), LOGITS, LENGTHS, STEPS]
SEARCH = {"strategy": "beam_search"}
# Few steps, so that no sequence is dropped: when some are, TensorFlow's decoder drops a few more.
FEW = np.round(numbers(61, 3, 4, 6) / 3, 2)
REPEATED = np.repeat(numbers(62, 2, 4, 3) * 2, 3, axis=1)
MORE += [
    ("ctc_loss", "plain", [LABELS, LOGITS, LENGTHS, STEPS], {}),
    ("ctc_loss", "last", LAST, {"mask_index": 4}),
    ("ctc_loss", "from_end", LAST, {"mask_index": -1}),
    ("ctc_loss", "middle", [i32(0, 1, 3, 4, shape=(2, 2)), LOGITS[:2], i32(2, 1), i32(7, 3)],
     {"mask_index": 2}),
    ("ctc_loss", "no_labels", [LABELS, LOGITS, i32(0, 0, 0, 3), STEPS], {}),
    ("ctc_loss", "double", [LABELS.astype("int64"), LOGITS.astype("float64"), LENGTHS, STEPS], {}),
    ("ctc_decode", "plain", [LOGITS, STEPS], {}),
    ("ctc_decode", "unmerged", [REPEATED, i32(12, 7)], {"merge_repeated": False}),
    ("ctc_decode", "merged", [REPEATED, i32(12, 7)], {"mask_index": -1}),
    ("ctc_decode", "middle", [LOGITS, i32(1, 7, 2, 5)], {"mask_index": 2}),
    ("ctc_decode", "nothing", [LOGITS * f32(1, 0, 0, 0, 0) + f32(9, 0, 0, 0, 0), STEPS], {}),
    ("ctc_decode", "search", [LOGITS, STEPS], SEARCH),
    ("ctc_decode", "search_middle", [FEW, i32(4, 3, 2)],
     SEARCH | {"beam_width": 1000, "top_paths": 2, "mask_index": 2}),
    ("ctc_decode", "search_last", [FEW, i32(4, 4, 3)],
     SEARCH | {"beam_width": 800, "top_paths": 5, "mask_index": 5}),
    ("ctc_decode", "search_repeated", [REPEATED, i32(12, 8)], SEARCH | {"top_paths": 4}),
    ("ctc_decode", "search_one", [LOGITS, STEPS], SEARCH | {"beam_width": 1, "mask_index": 4}),
    ("ctc_decode", "search_double", [FEW.astype("float64"), i32(4, 2, 3)],
     SEARCH | {"beam_width": 900, "top_paths": 3}),
    ("i0", "around", [EDGES], {}), ("i0", "large", [f32(8, 9.5, 10, 10.5, 15, -40, 80, 88)], {}),
    ("i0", "double", [np.array([0.1, -3, 17, 18.9, 19.1, 30, 300, 700])], {}),
    ("i0", "ints", [INTS], {}), ("i0", "beyond", [f32(95, NAN, -100)], {}),
    ("nextafter", "double", [np.array([1.0, 1, -1, -1, 0, 0, 3, INF, NAN, 1]),
                             np.array([2.0, 0, 0, -2, 1, -1, 3, 0, 1, NAN])], {}),
    ("nextafter", "rows", [np.array([[1.0], [-2.5]]), np.array([2.0, -7.0, 1.0])], {}),
    ("nextafter", "equal", [f32(1, -2, 0), f32(1, -2, 0)], {}),
    ("rearrange", "order", [CUBE], {"pattern": "a b c -> c a b"}),
    ("rearrange", "joined", [CUBE], {"pattern": "a b c -> b (a c)"}),
    ("rearrange", "patches", [numbers(63, 2, 4, 6, 3)],
     {"pattern": "b (h1 h) (w1 w) c -> (b h1 w1) h w c", "sizes": {"h1": 2, "w1": 3}}),
    ("rearrange", "all_parts", [i32(*range(24))],
     {"pattern": "(x y z) -> z (y x)", "sizes": {"y": 3, "z": 2}}),
    ("rearrange", "as_it_is", [MATRIX], {"pattern": "x_1 y -> x_1 y"}),
    ("view", "bits", [EDGES], {"dtype": "int32"}), ("view", "floats", [INTS], {"dtype": "float32"}),
    ("view", "narrower", [MATRIX], {"dtype": "uint8"}),
    ("view", "halves", [MATRIX], {"dtype": "float16"}),
    ("view", "wider", [i32(*range(12), shape=(3, 4))], {"dtype": "int64"}),
    ("view", "itself", [INTS], {}),
]


HALVES = np.array([-741, 353.25, 1099, -1807, 502.75, -83.375], "float16")
BYTES = np.array([[1, -2, 3], [100, 100, 7]], "int8")
MORE += [
    ("diag", "bools", [BOOLS], {}), ("diagflat", "bools", [BOOLS], {"k": -1}),
    ("correlate", "halves_and_ints", [HALVES, i32(1, 0, 2)], {"mode": "full"}),
    ("max", "initial", [MATRIX], {"axis": 1, "initial": 0.5}),
    ("max", "bools", [~BOOLS[:1]], {"initial": 1}), ("min", "bools", [BOOLS[:1]], {"initial": 0}),
    ("matmul", "bytes", [BYTES, BYTES.T.copy()], {}),
    ("matmul", "bytes_and_bools", [BYTES[:1], np.array([[True], [False], [True]])], {}),
    ("einsum", "bytes", [BYTES, BYTES], {"subscripts": "ij,kj->ik"}),
    ("einsum", "bytes_and_bools", [BYTES[:1], BOOLS[:3]], {"subscripts": "ij,j->i"}),
    ("moments", "halves", [HALVES], {"axes": [0]}),
    ("moments", "halves_by_row", [HALVES.reshape(2, 3)], {"axes": [1], "keepdims": True}),
    ("softmax", "axis", [CUBE], {"axis": 1}), ("softmax", "axes", [CUBE], {"axis": [0, 2]}),
    ("softmax", "all", [CUBE], {"axis": None}),
    ("log_softmax", "axes", [CUBE], {"axis": [1, 2]}), ("log_softmax", "all", [MATRIX], {"axis": None}),
    ("argsort", "flat", [INTS.reshape(2, 3)], {"axis": None}), ("argsort", "axis", [MATRIX], {"axis": 0}),
]


def python_arguments(arguments):
    result = dict(arguments)
    if result.get("ord") in ("inf", "-inf"):
        result["ord"] = float(result["ord"])
    for key in ("axis", "axes", "range", "shape", "size", "strides", "kernel_size", "dilation",
                "padding", "stride", "output_size", "output_shape", "spatial_dims", "dilation_rate"):
        if isinstance(result.get(key), list):
            result[key] = tuple(result[key])
    return result


def run(op, name, inputs, arguments):
    function = getattr(ops.image, op[6:]) if op.startswith("image.") else getattr(ops, op)
    keywords = python_arguments(arguments)
    if op == "einsum":
        result = function(keywords["subscripts"], *inputs)
    elif op in ("meshgrid",):
        result = function(*inputs, **keywords)
    elif op in OF_PARTS:
        result = function(tuple(inputs), **keywords)
    elif op in OF_LISTS:
        result = function(list(inputs), **keywords)
    elif op == "slice_update":
        result = function(inputs[0], keywords["start_indices"], inputs[1])
    elif op == "rearrange":
        result = function(*inputs, keywords["pattern"], **keywords.get("sizes", {}))
    elif op == "image.scale_and_translate":
        images, scale, translation = [ops.convert_to_tensor(x) for x in inputs]
        result = function(images, scale=scale, translation=translation, **keywords)
    elif op in ("average", "trapezoid") and len(inputs) == 2:
        keywords["weights" if op == "average" else "x"] = inputs[1]
        result = function(inputs[0], **keywords)
    else:
        result = function(*[ops.convert_to_tensor(x) for x in inputs], **keywords)
    return encoded(op, name, inputs, arguments, result)


def encoded(op, name, inputs, arguments, result):
    outputs = list(result) if isinstance(result, (tuple, list)) else [result]
    return {
        "name": f"{op}_{name}",
        "op": op,
        "inputs": [common.tensor(x) for x in inputs],
        "arguments": arguments,
        "outputs": [common.tensor(x) for x in outputs],
    }


def run_on_numpy(cases):
    """Runs cases with given random values, which are then additional inputs."""
    calls = [{"name": op, "inputs": inputs, "keywords": python_arguments(arguments), "drawn": drawn}
             for op, _, inputs, arguments, drawn in cases]
    return [encoded(op, name, inputs + (drawn or []), arguments, result)
            for (op, name, inputs, arguments, drawn), result
            in zip(cases, numpy_backend.results(calls), strict=True)]


def make():
    cases = [(op, "plain", [x], {}) for op, x in UNARY.items()]
    cases += [(op, "plain", list(pair), {}) for op, pair in PAIRS.items()]
    cases += MORE + golden_image_ops.CASES
    return [run(*case) for case in cases] + run_on_numpy(golden_image_ops.ON_NUMPY)
