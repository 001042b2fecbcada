# SPDX-License-Identifier: Apache-2.0
"""Images: how TensorFlow decodes and resizes them, how Pillow loads them, which files Keras
selects."""

import io
import pathlib
import tempfile

import keras
import numpy as np
import tensorflow as tf
from keras.src.utils import image_dataset_utils
from PIL import Image

import common


def picture(rng, height, width, channels):
    """Returns smooth colors with some noise: neither flat nor pure noise."""
    coarse = rng.uniform(0, 255, (3, 4, channels)).astype("float32")
    smooth = tf.image.resize(coarse, (height, width), "bicubic").numpy()
    return np.clip(smooth + rng.normal(0, 6, smooth.shape), 0, 255).astype("uint8")


def saved(array, mode, file_format, **options):
    out = io.BytesIO()
    Image.fromarray(array).convert(mode).save(out, file_format, **options)
    return out.getvalue()


def palette_png(rng, **options):
    image = Image.fromarray(picture(rng, 9, 11, 3)).quantize(13)
    out = io.BytesIO()
    image.save(out, "PNG", **options)
    return out.getvalue()


def animation(rng):
    frames = [Image.fromarray(picture(rng, 10, 12, 3)).quantize(16) for _ in range(3)]
    out = io.BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:], duration=50)
    return out.getvalue()


def files(rng):
    color, grey, opaque = (picture(rng, 19, 27, channels) for channels in (3, 1, 4))
    grey = grey[..., 0]
    wide = tf.io.encode_png(rng.integers(0, 65536, (5, 7, 3), "uint16")).numpy()
    return {
        "jpeg color": saved(color, "RGB", "JPEG", quality=90),
        "jpeg fine colors": saved(color, "RGB", "JPEG", quality=95, subsampling=0),
        "jpeg progressive": saved(color, "RGB", "JPEG", progressive=True),
        "jpeg grey": saved(grey, "L", "JPEG"),
        "jpeg inks": saved(color, "CMYK", "JPEG"),
        "png color": saved(color, "RGB", "PNG"),
        "png grey": saved(grey, "L", "PNG"),
        "png opacity": saved(opaque, "RGBA", "PNG"),
        "png grey opacity": saved(opaque, "LA", "PNG"),
        "png bits": saved(grey, "1", "PNG"),
        "png palette": palette_png(rng),
        "png palette transparent": palette_png(rng, transparency=bytes([0, 100, 200])),
        "png color transparent": saved(color, "RGB", "PNG", transparency=tuple(map(int, color[2, 3]))),
        "png 16 bits": wide,
        "bmp color": saved(color, "RGB", "BMP"),
        "bmp opacity": saved(opaque, "RGBA", "BMP"),
        "bmp grey": saved(grey, "L", "BMP"),
        "gif": saved(color, "P", "GIF"),
        "gif interlaced": saved(color, "P", "GIF", interlace=True),
        "gif animated": animation(rng),
    }


def decoded(data, channels):
    try:
        return common.tensor(tf.io.decode_image(data, channels=channels).numpy())
    except tf.errors.InvalidArgumentError:  # not available with this number of channels
        return None


def loaded(data):
    """Returns the results of keras.utils.load_img for several options."""
    cases = [
        {},
        {"color_mode": "grayscale"},
        {"color_mode": "rgba"},
        {"target_size": (8, 9)},
        {"target_size": (8, 9), "interpolation": "bilinear"},
        {"target_size": (30, 8), "interpolation": "bicubic", "keep_aspect_ratio": True},
        {"target_size": (30, 40), "interpolation": "lanczos"},
        {"target_size": (8, 9), "interpolation": "nearest", "keep_aspect_ratio": True},
        # Positions on the border of two pixels.
        {"target_size": (28, 24), "interpolation": "nearest", "keep_aspect_ratio": True},
        {"target_size": (6, 5), "interpolation": "hamming", "color_mode": "rgba"},
        {"target_size": (6, 5), "interpolation": "box"},
        {"target_size": (4, 40), "interpolation": "bicubic"},  # since Pillow 13, columns first
    ]
    result = []
    for options in cases:
        image = keras.utils.load_img(io.BytesIO(data), **options)
        result.append({"options": options, "image": common.tensor(np.array(image).reshape(
            image.size[1], image.size[0], -1))})
    return result


def file_cases():
    rng = np.random.default_rng(1)
    for name, data in files(rng).items():
        case = {"name": name, "kind": "file", "hex": data.hex()}
        for channels in (0, 1, 3, 4):
            case[f"channels {channels}"] = decoded(data, channels)
        if name in ("jpeg color", "png opacity", "jpeg grey"):
            case["loaded"] = loaded(data)
        if name == "jpeg color":
            case["accurate"] = common.tensor(
                tf.io.decode_jpeg(data, dct_method="INTEGER_ACCURATE"))
            case["plain"] = common.tensor(tf.io.decode_jpeg(data, fancy_upscaling=False))
            case["ratio 2"] = common.tensor(tf.io.decode_jpeg(data, ratio=2))
            case["ratio 8"] = common.tensor(tf.io.decode_jpeg(data, ratio=8))
        yield case


METHODS = ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian",
           "mitchellcubic")
SIZES = (((13, 17), (5, 6)), ((5, 7), (12, 9)), ((9, 9), (9, 4)), ((1, 2), (3, 3)), ((8, 8), (4, 16)))


def resize_cases():
    rng = np.random.default_rng(2)
    for (height, width), size in SIZES:
        image = picture(rng, height, width, 3)
        path = pathlib.Path(tempfile.mkdtemp()) / "image.png"
        path.write_bytes(tf.io.encode_png(image).numpy())
        for method in METHODS:
            for fit in ("", "crop", "pad"):
                if fit == "crop" and method in ("gaussian", "mitchellcubic"):
                    continue  # Keras doesn't support these
                values = image_dataset_utils._load_image_tf(
                    str(path), size, 3, method, "channels_last",
                    crop_to_aspect_ratio=fit == "crop", pad_to_aspect_ratio=fit == "pad")
                yield {"name": f"{method} {height} x {width} to {size[0]} x {size[1]} {fit}",
                       "kind": "resize", "method": method, "fit": fit, "size": list(size),
                       "image": common.tensor(image),
                       "result": common.tensor(np.round(values.numpy().astype("float32"), 3))}


def shuffle_cases():
    for seed, count in ((0, 10), (1337, 100), (2**32 - 1, 7), (42, 1), (5, 1000)):
        order = np.arange(count)
        np.random.RandomState(seed).shuffle(order)
        yield {"name": f"shuffle {count} by {seed}", "kind": "shuffle", "seed": seed,
               "order": order.tolist()}


TREE = (
    [f"cats/{i}.png" for i in range(8)] + [f"dogs/sub/{i}.PNG" for i in range(5)]
    + [f"dogs/sub.x/{i}.Jpeg" for i in range(2)] + ["dogs/z.gif", "dogs/a.jpg", "dogs/notes.txt"]
    + [f"birds/b{i}.bmp" for i in range(4)] + [".hidden/0.png", "top.png", "cats/.dot.png"])

FOLDERS = {
    "defaults": {"seed": 7},
    "sorted": {"shuffle": False},
    "training": {"seed": 123, "validation_split": 0.2, "subset": "training"},
    "validation": {"seed": 123, "validation_split": 0.2, "subset": "validation"},
    "sorted validation": {"shuffle": False, "validation_split": 0.3, "subset": "validation"},
    "classes": {"shuffle": False, "class_names": ["dogs", "birds"], "label_mode": "binary"},
    "categorical": {"seed": 4, "label_mode": "categorical"},
    "no labels": {"seed": 4, "labels": None},
    "list": {"seed": 4, "labels": [i % 3 for i in range(24)]},
}


def folder_cases():
    root = pathlib.Path(tempfile.mkdtemp())
    image = tf.io.encode_png(np.zeros((2, 2, 3), "uint8")).numpy()
    for name in TREE:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(image)
    for name, options in FOLDERS.items():
        dataset = keras.utils.image_dataset_from_directory(
            str(root), image_size=(2, 2), verbose=False, **options)
        labels = None
        if options.get("labels", "") is not None:
            unshuffled = image_dataset_utils.dataset_utils.index_directory(
                str(root), options.get("labels", "inferred"), image_dataset_utils.ALLOWLIST_FORMATS,
                options.get("class_names"), options.get("shuffle", True), options.get("seed"),
                verbose=False)
            of_path = dict(zip(unshuffled[0], unshuffled[1]))
            labels = [int(of_path[path]) for path in dataset.file_paths]
        yield {"name": "folder " + name, "kind": "folder", "tree": TREE, "options": options,
               "files": [str(pathlib.Path(p).relative_to(root)) for p in dataset.file_paths],
               "labels": labels, "class_names": dataset.class_names}


def make():
    return [*file_cases(), *resize_cases(), *shuffle_cases(), *folder_cases()]
