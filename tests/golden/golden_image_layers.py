# SPDX-License-Identifier: Apache-2.0
"""Keras's layers of pictures: those without chance, and the others with what they drew given."""

import common
import numpy as np
from keras import layers

BATCH = (3, 6, 8, 2)
SINGLE = (7, 5, 3)


def case(name, layer, shape=BATCH, training=True, dtype="float32", drawn=None):
    return {"name": name, "layer": layer, "shape": shape, "training": training, "dtype": dtype,
            "drawn": drawn}


def affine_cases():
    for mode in ("reflect", "wrap", "constant", "nearest"):
        yield case(f"rotation_{mode}",
                   lambda mode=mode: layers.RandomRotation((0.08, 0.08), fill_mode=mode,
                                                           fill_value=3.0))
        yield case(f"zoom_{mode}",
                   lambda mode=mode: layers.RandomZoom((0.3, 0.3), (-0.4, -0.4), fill_mode=mode,
                                                       fill_value=3.0))
        yield case(f"translation_{mode}",
                   lambda mode=mode: layers.RandomTranslation((0.3, 0.3), (-0.45, -0.45),
                                                              fill_mode=mode, fill_value=3.0))
    yield case("rotation_nearest_pixel",
               lambda: layers.RandomRotation((-0.2, -0.2), interpolation="nearest"))
    yield case("rotation_single", lambda: layers.RandomRotation((0.3, 0.3)), SINGLE)
    yield case("rotation_whole", lambda: layers.RandomRotation((1, 1)), SINGLE)
    yield case("rotation_bytes", lambda: layers.RandomRotation((0.1, 0.1)), dtype="uint8")
    yield case("rotation_inference", lambda: layers.RandomRotation(0.5), training=False,
               dtype="uint8")
    yield case("zoom_one_factor", lambda: layers.RandomZoom((-0.35, -0.35)))
    yield case("zoom_single", lambda: layers.RandomZoom((1.0, 1.0)), SINGLE)
    yield case("zoom_inference", lambda: layers.RandomZoom(0.3, (0.1, 0.4)), training=False)
    yield case("translation_single", lambda: layers.RandomTranslation((-1, -1), 0.0), SINGLE)
    yield case("translation_inference", lambda: layers.RandomTranslation(0.3, 0.2), training=False)
    yield case("translation_nearest_pixel",
               lambda: layers.RandomTranslation((0.4, 0.4), (0.2, 0.2), interpolation="nearest",
                                                fill_mode="constant"))
    yield case("rotation_channels_first",
               lambda: layers.RandomRotation((0.1, 0.1), data_format="channels_first"),
               (2, 3, 6, 5))


def color_cases():
    factors = np.array([0.25, 1.0, 1.9], "float32").reshape(3, 1, 1, 1)
    yield case("contrast", lambda: layers.RandomContrast((0.9, 0.75)),
               drawn={"contrast_factor": factors})
    yield case("contrast_range", lambda: layers.RandomContrast(0.9, value_range=(0, 1)),
               drawn={"contrast_factor": factors})
    yield case("contrast_none", lambda: layers.RandomContrast(0.0))
    yield case("contrast_inference", lambda: layers.RandomContrast(0.5), training=False)
    yield case("brightness", lambda: layers.RandomBrightness((0.2, 0.2)))
    yield case("brightness_range", lambda: layers.RandomBrightness((-0.7, -0.7), (0, 1)))
    yield case("brightness_single", lambda: layers.RandomBrightness((1, 1)), SINGLE)
    yield case("brightness_inference", lambda: layers.RandomBrightness(0.3), training=False)
    flips = np.array([True, False, True]).reshape(3, 1, 1, 1)
    for mode in ("horizontal", "vertical", "horizontal_and_vertical"):
        yield case(f"flip_{mode}", lambda mode=mode: layers.RandomFlip(mode),
                   drawn={"flips": flips})
    yield case("flip_inference", lambda: layers.RandomFlip(seed=3), training=False, dtype="uint8")


def size_cases():
    yield case("crop", lambda: layers.RandomCrop(3, 4, seed=1), drawn=(2, 1))
    for height, width in ((6, 5), (9, 9), (3, 10), (6, 8), (4, 8)):
        yield case(f"crop_of_small_{height}_{width}",
                   lambda height=height, width=width: layers.RandomCrop(height, width, seed=1))
    for height, width in ((3, 4), (5, 7), (6, 8), (9, 9), (2, 11), (8, 3)):
        yield case(f"center_crop_{height}_{width}",
                   lambda height=height, width=width: layers.CenterCrop(height, width))
    yield case("center_crop_single", lambda: layers.CenterCrop(4, 4), SINGLE, dtype="uint8")
    yield case("center_crop_channels_first",
               lambda: layers.CenterCrop(4, 4, data_format="channels_first"), (2, 3, 6, 5))
    # Ratios at which TensorFlow's tables of weights, and halves to be rounded, are exact.
    for method in ("bilinear", "nearest", "bicubic", "lanczos3", "lanczos5"):
        for dtype in ("float32", "uint8"):
            yield case(f"resizing_{method}_{dtype}",
                       lambda method=method: layers.Resizing(3, 16, method), dtype=dtype)
    yield case("resizing_smooth", lambda: layers.Resizing(3, 3, antialias=True))
    yield case("resizing_cropped", lambda: layers.Resizing(4, 4, crop_to_aspect_ratio=True), SINGLE)
    yield case("resizing_padded",
               lambda: layers.Resizing(4, 4, pad_to_aspect_ratio=True, fill_value=2.0))
    yield case("resizing_channels_first",
               lambda: layers.Resizing(4, 4, data_format="channels_first"), (2, 3, 6, 5))


def pictures(rng, shape, dtype):
    if dtype == "uint8":
        return rng.integers(0, 256, shape).astype("uint8")
    return common.uniform(rng, shape, 0.0, 9.0)


def run(name, layer, shape, training, dtype, drawn):
    rng = common.start(name)
    made = layer()
    config = common.serialize(made)
    x = pictures(rng, shape, dtype)
    if drawn is None:
        y = made(x, training=training)
    else:
        y = made.transform_images(made.backend.convert_to_tensor(x), drawn, training=training)
    result = {"name": name, "object": config, "training": training,
              "input": common.tensor(x), "output": common.tensor(y)}
    if isinstance(drawn, dict):
        result |= {key: common.tensor(value) for key, value in drawn.items()}
    elif drawn is not None:
        result["place"] = list(drawn)
    return result


def make():
    return [run(**item) for item in (*affine_cases(), *color_cases(), *size_cases())]
