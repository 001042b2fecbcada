# SPDX-License-Identifier: Apache-2.0
"""Operations of keras.ops.image: golden_ops makes the cases from CASES and ON_NUMPY."""

import common
import numpy as np


def numbers(seed, *shape, low=-2.0, high=2.0):
    return common.uniform(np.random.default_rng(seed), shape, low, high)


def integers(seed, *shape, dtype="uint8", high=256):
    return np.random.default_rng(seed).integers(0, high, shape).astype(dtype)


def first(array):
    """Moves the channels first."""
    return np.moveaxis(array, -1, -3).copy()


FIRST = {"data_format": "channels_first"}
IMAGES = numbers(1, 2, 5, 6, 3)
# Grays, black, and equal channels: all branches of the hue.
COLORS = np.array([[[0.2, 0.5, 0.9], [0.9, 0.5, 0.2], [0.5, 0.9, 0.2], [0.5, 0.5, 0.5]],
                   [[0, 0, 0], [1, 1, 0], [0, 1, 1], [1, 0, 1]],
                   [[0.3, 0.3, 0.8], [0.8, 0.3, 0.3], [1, 0, 0.01], [0.01, 0.02, 0.03]]], "float32")
HUES = numbers(2, 2, 3, 4, 3, low=0.0, high=1.0)

COLOR_CASES = [
    ("image.rgb_to_hsv", "single", [COLORS], {}),
    ("image.rgb_to_hsv", "batch", [HUES], {}),
    ("image.rgb_to_hsv", "channels_first", [first(HUES)], FIRST),
    ("image.rgb_to_hsv", "first_single", [first(COLORS)], FIRST),
    ("image.rgb_to_hsv", "wide", [HUES.astype("float64") * 255], {}),
    ("image.hsv_to_rgb", "single", [HUES[0]], {}),
    ("image.hsv_to_rgb", "batch", [HUES], {}),
    ("image.hsv_to_rgb", "edges", [np.round(HUES * 6) / 6], {}),
    ("image.hsv_to_rgb", "channels_first", [first(HUES)], FIRST),
    ("image.hsv_to_rgb", "double", [HUES[1].astype("float64")], {}),
    ("image.rgb_to_grayscale", "channels_first", [first(IMAGES)], FIRST),
    ("image.resize", "channels_first", [first(IMAGES)], FIRST | {"size": [10, 3]}),
]

SIZE_CASES = [
    ("image.pad_images", "around", [IMAGES],
     {"top_padding": 1, "left_padding": 2, "bottom_padding": 0, "right_padding": 3}),
    ("image.pad_images", "to_size", [IMAGES[0]],
     {"top_padding": 2, "left_padding": 0, "target_height": 9, "target_width": 6}),
    ("image.pad_images", "before", [first(IMAGES)],
     FIRST | {"bottom_padding": 1, "right_padding": 2, "target_height": 6, "target_width": 10}),
    ("image.pad_images", "bytes", [integers(3, 2, 3, 1)],
     {"top_padding": 0, "left_padding": 0, "bottom_padding": 0, "right_padding": 1}),
    ("image.crop_images", "around", [IMAGES],
     {"top_cropping": 1, "left_cropping": 2, "bottom_cropping": 0, "right_cropping": 3}),
    ("image.crop_images", "to_size", [IMAGES[0]],
     {"top_cropping": 2, "left_cropping": 0, "target_height": 2, "target_width": 6}),
    ("image.crop_images", "before", [first(IMAGES)],
     FIRST | {"bottom_cropping": 1, "right_cropping": 2, "target_height": 3, "target_width": 1}),
    ("image.crop_images", "whole", [integers(3, 2, 3, 1)],
     {"top_cropping": 0, "left_cropping": 0, "bottom_cropping": 0, "right_cropping": 0}),
    ("image.crop_images", "nothing", [IMAGES],
     {"top_cropping": 2, "left_cropping": 1, "target_height": 0, "target_width": 2}),
]

VOLUMES = numbers(4, 2, 4, 5, 6, 2)
PATCH_CASES = [
    ("image.extract_patches_3d", "side_by_side", [VOLUMES], {"size": 2}),
    ("image.extract_patches_3d", "overlapping", [VOLUMES[0]],
     {"size": [2, 3, 2], "strides": [1, 2, 3]}),
    ("image.extract_patches_3d", "same", [VOLUMES],
     {"size": [3, 3, 3], "strides": [2, 2, 2], "padding": "same"}),
    ("image.extract_patches_3d", "dilated", [VOLUMES],
     {"size": [2, 2, 2], "strides": 1, "dilation_rate": 2}),
    ("image.extract_patches_3d", "whole", [VOLUMES[0]], {"size": [4, 5, 6]}),
    ("image.extract_patches", "of_volumes", [VOLUMES], {"size": [2, 2, 3]}),
]

FILTER_CASES = [
    ("image.gaussian_blur", "plain", [IMAGES], {"data_format": "channels_last"}),
    ("image.gaussian_blur", "single", [IMAGES[0]],
     {"kernel_size": [5, 5], "sigma": [0.6, 2.0], "data_format": "channels_last"}),
    ("image.gaussian_blur", "channels_first", [first(IMAGES)],
     FIRST | {"kernel_size": [7, 7], "sigma": [1.5, 0.5]}),
    ("image.gaussian_blur", "even", [IMAGES.astype("float64")],
     {"kernel_size": [4, 4], "sigma": [1.0, 1.5], "data_format": "channels_last"}),
    ("image.gaussian_blur", "beyond", [numbers(5, 1, 2, 1, 1)],
     {"kernel_size": [9, 9], "sigma": [3.0, 2.0], "data_format": "channels_last"}),
    ("image.sobel_edges", "plain", [IMAGES], {}),
    ("image.sobel_edges", "channels_first", [first(IMAGES)], FIRST),
    ("image.sobel_edges", "smallest", [numbers(6, 1, 2, 2, 1)], {}),
    ("image.sobel_edges", "double", [numbers(7, 1, 3, 5, 2).astype("float64")], {}),
]

SEEN = numbers(8, 2, 13, 12, 3, low=0.0, high=1.0)
OTHER = np.clip(SEEN + numbers(9, 2, 13, 12, 3, low=-0.2, high=0.2), 0, 1)
FILTER_CASES += [
    ("image.ssim", "plain", [SEEN, OTHER], {}),
    ("image.ssim", "single", [SEEN[0], OTHER[0]],
     {"max_val": 2.0, "filter_size": 5, "filter_sigma": 0.8, "k1": 0.02, "k2": 0.05}),
    ("image.ssim", "channels_first", [first(SEEN), first(OTHER)], FIRST | {"filter_size": 4}),
    ("image.ssim", "equal", [SEEN, SEEN], {}),
    ("image.ssim", "bytes", [integers(10, 12, 11, 1), integers(11, 12, 11, 1)], {"max_val": 255.0}),
    ("image.ssim", "one_pixel", [SEEN, OTHER], {"filter_size": 1}),
]

STARTS = np.array([[[0, 0], [5, 0], [0, 4], [5, 4]], [[1, 0], [4, 1], [0, 3], [5, 4]]], "float32")
ENDS = np.array([[[0.5, 0.25], [4, 0.5], [-0.5, 4.5], [5.5, 3]], [[0, 0], [5, 0], [0, 4], [5, 4]]],
                "float32")
GEOMETRY_CASES = [
    *[("image.perspective_transform", f"{name}_{method}", [IMAGES, STARTS, ENDS],
       {"interpolation": method, "fill_value": fill})
      for method in ("bilinear", "nearest") for name, fill in (("plain", 0.0), ("filled", 2.5))],
    ("image.perspective_transform", "single", [IMAGES[0], STARTS[1], ENDS[1]], {}),
    ("image.perspective_transform", "for_all", [IMAGES, STARTS[0], ENDS[0]], {}),
    ("image.perspective_transform", "channels_first", [first(IMAGES), STARTS, ENDS],
     FIRST | {"fill_value": -1.0}),
    ("image.perspective_transform", "bytes",
     [integers(12, 5, 6, 1), STARTS[1].astype("int32"), np.round(ENDS[0] * 2).astype("int32")], {}),
]

MATRIX = numbers(13, 4, 5)
INSIDE = numbers(14, 2, 3, 4, low=0.0, high=3.0)
AROUND = numbers(15, 2, 30, low=-9.0, high=12.0)
AFTER = numbers(16, 2, 30, low=0.0, high=8.0)  # for which reflections agree on all backends
GEOMETRY_CASES += [
    *[("image.map_coordinates", f"{mode}_{order}", [MATRIX, places],
       {"order": order, "fill_mode": mode, "fill_value": 1.5})
      for mode, places in (("constant", AROUND), ("nearest", AROUND), ("wrap", AROUND),
                           ("reflect", AFTER))
      for order in (0, 1)],
    ("image.map_coordinates", "plain", [MATRIX, INSIDE], {"order": 1}),
    ("image.map_coordinates", "halves", [numbers(17, 7), np.arange(-3, 16).reshape(1, -1) / 2],
     {"order": 0}),
    ("image.map_coordinates", "cube", [numbers(18, 3, 4, 2), numbers(19, 3, 2, 3, low=0, high=2)],
     {"order": 1, "fill_mode": "nearest"}),
    ("image.map_coordinates", "integers", [integers(20, 4, 5, dtype="int32"), INSIDE],
     {"order": 1}),
    ("image.map_coordinates", "bytes", [integers(20, 4, 5), AROUND], {"order": 0, "fill_value": 9}),
    ("image.map_coordinates", "at_integers",
     [integers(20, 4, 5), np.array([[0, 3, 5], [4, -1, 2]], "int32")], {"order": 0}),
    ("image.map_coordinates", "double", [MATRIX.astype("float64"), AROUND.astype("float64")],
     {"order": 1, "fill_mode": "wrap"}),
]


def scaling(name, images, output_shape, scale, translation, spatial_dims, method, **more):
    return ("image.scale_and_translate", name,
            [images, np.array(scale, "float32"), np.array(translation, "float32")],
            {"output_shape": output_shape, "spatial_dims": spatial_dims, "method": method} | more)


GEOMETRY_CASES += [
    *[scaling(f"{method}_{name}", IMAGES, [2, *size, 3], scale, [0.4, -1.2], [1, 2], method,
              antialias=antialias)
      for method in ("linear", "cubic", "lanczos3", "lanczos5")
      for name, size, scale, antialias in (("up", [9, 8], [1.8, 1.4], True),
                                           ("down", [3, 4], [0.55, 0.6], True),
                                           ("sharp", [3, 4], [0.55, 0.6], False))],
    *[scaling(method, MATRIX, [6, 5], [1.3], [0.5], [0], method)
      for method in ("bilinear", "trilinear", "bicubic", "tricubic")],
    scaling("beyond", MATRIX, [8, 9], [1.0, 0.5], [3.0, 20.0], [0, 1], "linear"),
    scaling("negative_axes", IMAGES, [2, 5, 7, 4], [1.3, 1.2], [0.2, -0.3], [-1, -2], "cubic"),
    scaling("nowhere", MATRIX, [4, 5], [], [], [], "linear"),
]

CASES = COLOR_CASES + SIZE_CASES + PATCH_CASES + FILTER_CASES + GEOMETRY_CASES

NOISE = [common.normal(np.random.default_rng(30 + i), (2, 5, 6)) for i in range(2)]


def elastic(name, images, alpha, sigma, **more):
    return ("image.elastic_transform", name, [images],
            {"alpha": alpha, "sigma": sigma, "seed": 1, "data_format": "channels_last"} | more, NOISE)


# With the values that they draw.
ON_NUMPY = [
    *[("image.map_coordinates", f"documented_{mode}_{order}", [MATRIX, AROUND],
       {"order": order, "fill_mode": mode}, None)
      for mode in ("mirror", "reflect") for order in (0, 1)],
    ("image.map_coordinates", "documented_single", [MATRIX[:1], AROUND],
     {"order": 1, "fill_mode": "reflect"}, None),
    ("image.gaussian_blur", "documented", [IMAGES],
     {"kernel_size": [3, 5], "sigma": [0.7, 1.6], "data_format": "channels_last"}, None),
    ("image.gaussian_blur", "documented_first", [first(IMAGES)],
     FIRST | {"kernel_size": [7, 5], "sigma": [1.1, 2.0]}, None),
    elastic("plain", IMAGES, 20.0, 5.0),
    *[elastic(mode, IMAGES, 3.0, 0.8, fill_mode=mode, fill_value=1.5)
      for mode in ("constant", "nearest", "wrap", "reflect")],
    elastic("nearest_pixel", IMAGES, 4.0, 1.3, interpolation="nearest", fill_mode="wrap"),
    elastic("channels_first", first(IMAGES), 2.0, 1.0, **FIRST),
    elastic("little", IMAGES, 1.0, 0.1),
]
