# SPDX-License-Identifier: Apache-2.0
"""Keras's image layers: deterministic ones, and random ones with given random values."""

import common
import numpy as np
import numpy_backend
from keras import layers

BATCH = (3, 6, 8, 2)
SINGLE = (7, 5, 3)
COLORS = (3, 5, 4, 3)


def case(name, layer, shape=BATCH, training=True, dtype="float32", drawn=None, high=9.0):
    return {"name": name, "layer": layer, "shape": shape, "training": training, "dtype": dtype,
            "drawn": drawn, "high": high}


def color(name, layer, shape=COLORS, dtype="float32", drawn=None, high=255.0, training=True):
    return case(name, layer, shape, training, dtype, drawn, high)


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


def one_a_picture(*values, dtype="float32"):
    return np.array(values, dtype)


def tint_cases():
    turns = {"factor": one_a_picture(-0.45, 0.0, 0.3)}
    yield color("hue", lambda: layers.RandomHue(1.0), drawn=turns)
    yield color("hue_range", lambda: layers.RandomHue(0.5, value_range=(0, 1)), drawn=turns,
                high=1.0)
    yield color("hue_bytes", lambda: layers.RandomHue((0.1, 0.2)), drawn=turns, dtype="uint8")
    for part, name in ((-0.5, "none"), (0.3, "less"), (0.5, "same"), (0.8, "more")):
        yield color(f"saturation_{name}",
                    lambda part=part: layers.RandomSaturation((part, part), value_range=(0, 1)))
    yield color("saturation_wide", lambda: layers.RandomSaturation((0.7, 0.7)))
    yield color("saturation_single", lambda: layers.RandomSaturation((0.6, 0.6)), SINGLE, high=1.0)
    yield color("saturation_inference", lambda: layers.RandomSaturation(0.6), training=False)
    for part, name in ((-0.5, "more"), (0.3, "less"), (1, "none")):
        yield color(f"degeneration_{name}",
                    lambda part=part: layers.RandomColorDegeneration((part, part)))
    yield color("degeneration_range",
                lambda: layers.RandomColorDegeneration((-1, -1), value_range=(0, 1)), high=1.0)
    yield color("degeneration_channels_first",
                lambda: layers.RandomColorDegeneration((0.4, 0.4), data_format="channels_first"),
                (2, 3, 4, 5), dtype="uint8")
    for part, name in ((0, "blurred"), (0.25, "less"), (0.5, "same"), (1, "more")):
        yield color(f"sharpness_{name}", lambda part=part: layers.RandomSharpness((part, part)),
                    BATCH)
    yield color("sharpness_single", lambda: layers.RandomSharpness((1, 1)), SINGLE, dtype="uint8")
    yield color("sharpness_inference", lambda: layers.RandomSharpness(0.7), training=False)
    yield color("grayscale", lambda: layers.RandomGrayscale(1.0))
    yield color("grayscale_never", lambda: layers.RandomGrayscale(0.0))
    yield color("grayscale_some", lambda: layers.RandomGrayscale(),
                drawn=np.array([True, False, True]).reshape(3, 1, 1, 1))
    yield color("grayscale_channels_first",
                lambda: layers.RandomGrayscale(1.0, data_format="channels_first"), (2, 3, 4, 5))
    yield color("invert", lambda: layers.RandomInvert((1.0, 1.0)))
    yield color("invert_range", lambda: layers.RandomInvert((1, 1), (0, 1)), BATCH, high=1.0)
    yield color("invert_bytes", lambda: layers.RandomInvert((1, 1)), SINGLE, dtype="uint8")
    yield color("invert_never", lambda: layers.RandomInvert(0.0))


def value_cases():
    for bits in (1, 3, 8):
        yield color(f"posterization_{bits}",
                    lambda bits=bits: layers.RandomPosterization((bits, bits)), dtype="uint8")
    yield color("posterization_range",
                lambda: layers.RandomPosterization((2, 2), value_range=(0, 1)), BATCH, high=1.0)
    yield color("posterization_drawn", lambda: layers.RandomPosterization((1, 8)),
                drawn={"shift_factor": one_a_picture(0, 4, 7, dtype="uint8")})
    yield color("posterization_inference", lambda: layers.RandomPosterization(3), training=False)
    numbers = {"additions": one_a_picture(0.0, 30.5, 200.0).reshape(3, 1, 1, 1),
               "thresholds": one_a_picture(128.0, 255.0, 20.0).reshape(3, 1, 1, 1)}
    yield color("solarization", lambda: layers.Solarization(), dtype="uint8")
    yield color("solarization_range", lambda: layers.Solarization(value_range=(0, 1)), high=1.0)
    yield color("solarization_drawn", lambda: layers.Solarization(0.9, (0.2, 1.0)), drawn=numbers)
    yield color("solarization_drawn_range",
                lambda: layers.Solarization((0.1, 0.9), 0.3, value_range=(0, 1)), drawn=numbers,
                high=1.0)
    yield color("solarization_inference", lambda: layers.Solarization(0.3), training=False)
    yield color("contrast_stretched", lambda: layers.AutoContrast(), high=100.0)
    yield color("contrast_stretched_range", lambda: layers.AutoContrast((0, 1)), high=0.5)
    yield color("contrast_stretched_bytes", lambda: layers.AutoContrast(), dtype="uint8")
    yield color("contrast_stretched_single", lambda: layers.AutoContrast(), SINGLE, training=False)
    yield color("contrast_of_one_pixel", lambda: layers.AutoContrast(), (2, 1, 1, 3))
    yield color("equalization", lambda: layers.Equalization(), dtype="uint8")
    yield color("equalization_bins", lambda: layers.Equalization(bins=16), BATCH, high=180.0)
    yield color("equalization_range", lambda: layers.Equalization((0, 1), bins=64), high=1.0)
    yield color("equalization_single", lambda: layers.Equalization(), SINGLE, high=99.0)
    yield color("equalization_channels_first",
                lambda: layers.Equalization(data_format="channels_first"), (2, 3, 4, 5))
    yield color("equalization_of_one_pixel", lambda: layers.Equalization(), (1, 1, 1, 3))
    yield color("equalization_inference", lambda: layers.Equalization(), training=False)


def place_cases():
    shears = {"shear_factor": np.array([[0.3, -0.2], [-0.5, 0.0], [0.0, 0.9]], "float32")}
    for mode in ("reflect", "wrap", "constant", "nearest"):
        yield case(f"shear_{mode}",
                   lambda mode=mode: layers.RandomShear(0.5, (0.1, 0.9), fill_mode=mode,
                                                        fill_value=3.0), drawn=shears)
    yield case("shear_nearest_pixel", lambda: layers.RandomShear(0.5, interpolation="nearest"),
               drawn=shears)
    yield case("shear_inference", lambda: layers.RandomShear(0.5, 0.4), training=False)
    corners = np.array([[[0, 0], [7, 0], [0, 5], [7, 5]]] * 3, "float32")
    moves = np.array([[[0.2, 0.1], [-0.3, 0.4], [0.2, 0.25], [-0.1, -0.4]],
                      [[0.0, 0.0], [0.5, 0.0], [0.0, -0.5], [0.3, 0.2]],
                      [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]], "float32")
    drawn = {"apply_perspective": np.array([True, True, True]), "start_points": corners,
             "end_points": corners + corners * moves}
    for interpolation in ("bilinear", "nearest"):
        yield case(f"perspective_{interpolation}",
                   lambda interpolation=interpolation: layers.RandomPerspective(
                       interpolation=interpolation, fill_value=2.0), drawn=drawn)
    yield case("perspective_still", lambda: layers.RandomPerspective((1, 1), scale=0.0))
    yield case("perspective_inference", lambda: layers.RandomPerspective(), training=False)
    yield case("erasing_all", lambda: layers.RandomErasing((1, 1), (1, 1), fill_value=7))
    yield case("erasing_all_colors",
               lambda: layers.RandomErasing((1, 1), (1, 1), (7.0, 300.0, 1.5)), COLORS)
    yield case("erasing_never", lambda: layers.RandomErasing(0.0))
    yield case("erasing_inference", lambda: layers.RandomErasing(), training=False, dtype="uint8")
    for size, sigma in ((3, 1.0), (5, 0.7), (7, 0.3), (1, 0.5), (3, 0.0)):
        yield case(f"blur_{size}_{sigma}",
                   lambda size=size, sigma=sigma: layers.RandomGaussianBlur((1, 1), size,
                                                                            (sigma, sigma)))
    yield case("blur_range",
               lambda: layers.RandomGaussianBlur((1, 1), 5, (0.8, 0.8), value_range=(2, 5)))
    yield case("blur_channels_first",
               lambda: layers.RandomGaussianBlur((1, 1), 3, (0.8, 0.8),
                                                 data_format="channels_first"), (2, 3, 6, 5))
    yield case("blur_inference", lambda: layers.RandomGaussianBlur(), training=False)


def elastic_cases():
    """Random cases are computed on the NumPy backend, which can be given the random values."""
    layer = layers.RandomElasticTransform
    for i, mode in enumerate(("reflect", "wrap", "constant", "nearest")):
        yield case(f"elastic_{mode}",
                   lambda mode=mode: layer((0.2, 0.9), (0.5, 1), fill_mode=mode, fill_value=3.0),
                   drawn={"distortion_factor": np.float32(1 - i / 6)})
    yield case("elastic_nearest_pixel",
               lambda: layer(interpolation="nearest", value_range=(2, 5)),
               (3, 12, 9, 1), drawn={"distortion_factor": np.float32(0.9)})
    yield case("elastic_wide", lambda: layer(scale=0.8), (3, 25, 40, 1),
               drawn={"distortion_factor": np.float32(0.75)})
    yield case("elastic_never", lambda: layer(0.0))
    yield case("elastic_still", lambda: layer(scale=0))
    yield case("elastic_inference", lambda: layer(fill_mode="constant"), training=False)


def mixed_cases():
    yield color("jitter", lambda: layers.RandomColorJitter())
    yield color("jitter_fixed",
                lambda: layers.RandomColorJitter(brightness_factor=(0.1, 0.1), contrast_factor=0.0,
                                                 saturation_factor=(0.4, 0.4), hue_factor=0.0))
    yield color("jitter_inference", lambda: layers.RandomColorJitter(hue_factor=0.5),
                training=False)
    yield color("rand_augment_none", lambda: layers.RandAugment(num_ops=0))
    yield color("rand_augment_inference", lambda: layers.RandAugment(factor=(0.1, 0.2)),
                training=False, dtype="uint8")
    yield color("aug_mix_inference", lambda: layers.AugMix(), training=False, dtype="uint8")
    yield color("rand_augment_none_single",
                lambda: layers.RandAugment((0, 1), num_ops=0, factor=0.7, interpolation="nearest",
                                           seed=3), SINGLE, high=1.0)
    yield color("aug_mix_options",
                lambda: layers.AugMix((0, 1), num_chains=2, chain_depth=1, factor=0.6, alpha=0.5,
                                      all_ops=False, interpolation="nearest", seed=3),
                training=False, high=1.0)
    yield color("aug_mix_single", lambda: layers.AugMix(seed=1), SINGLE, training=False)


def mixture_cases():
    for name, layer in (("mix_up", layers.MixUp), ("cut_mix", layers.CutMix)):
        yield color(f"{name}_inference", lambda layer=layer: layer(), training=False)
        yield color(f"{name}_seeded", lambda layer=layer: layer(seed=3), training=False)
        options = {"alpha": 0.7} if layer is layers.MixUp else {"factor": 0.6}
        yield color(f"{name}_options", lambda layer=layer, options=options: layer(**options),
                    (1, 2, 3, 3), training=False)


def tile_cases():
    clahe = layers.ContrastLimitedAdaptiveHistogramEqualization
    yield color("tiles", lambda: clahe(), (2, 16, 24, 3))
    yield color("tiles_beyond", lambda: clahe(tile_grid_size=(3, 4)), (2, 14, 17, 2))
    yield color("tiles_range", lambda: clahe((0, 1), 1.5, (2, 2)), (2, 10, 9, 1), high=1.0)
    yield color("tiles_without_limit", lambda: clahe(clip_limit=0.0, tile_grid_size=(2, 3)),
                (2, 10, 9, 3), high=90.0)
    yield color("tiles_single", lambda: clahe(tile_grid_size=(2, 2)), (9, 8, 3), training=False)
    yield color("tiles_one", lambda: clahe(tile_grid_size=(1, 1)), (2, 6, 7, 1))
    yield color("tiles_channels_first",
                lambda: clahe(tile_grid_size=(2, 2), data_format="channels_first"), (2, 3, 8, 7))


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
    # Ratios for which TensorFlow's weight tables, and halves before rounding, are exact.
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


def pictures(rng, shape, dtype, high):
    if dtype == "uint8":
        return rng.integers(0, 256, shape).astype("uint8")
    return common.uniform(rng, shape, 0.0, high)


def elastic(config, x, drawn):
    """Returns the layer's output, and all random values that it uses."""
    chosen = np.array([True, False, True])
    noise = [common.normal(np.random.default_rng(i), x.shape[:3]) for i in range(2)]
    call = {"layer": config, "inputs": [x], "drawn": noise,
            "transformation": drawn | {"apply_transform": chosen, "seed": 1}}
    drawn = drawn | {"apply_transform": chosen, "right": noise[0], "down": noise[1]}
    return numpy_backend.results([call])[0], drawn


def run(name, layer, shape, training, dtype, drawn, high):
    rng = common.start(name)
    made = layer()
    config = common.serialize(made)
    x = pictures(rng, shape, dtype, high)
    if drawn is None:
        y = made(x, training=training)
    elif isinstance(drawn, dict) and "distortion_factor" in drawn:
        y, drawn = elastic(config, x, drawn)
    else:
        y = made.transform_images(made.backend.convert_to_tensor(x), drawn, training=training)
    result = {"name": name, "object": config, "training": training,
              "drawn": drawn is not None, "input": common.tensor(x), "output": common.tensor(y)}
    if isinstance(drawn, dict):
        result |= {key: common.tensor(value) for key, value in drawn.items()}
    elif isinstance(drawn, np.ndarray):
        result["chosen"] = common.tensor(drawn)
    elif drawn is not None:
        result["place"] = list(drawn)
    return result


def make():
    groups = (affine_cases, color_cases, size_cases, tint_cases, value_cases, place_cases,
              elastic_cases, tile_cases, mixed_cases, mixture_cases)
    return [run(**item) for group in groups for item in group()]
