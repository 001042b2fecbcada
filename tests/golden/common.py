# SPDX-License-Identifier: Apache-2.0
"""Helpers shared by all groups of golden values: Keras's setup, numbers, encoding, files."""

import json
import os
import pathlib
import zlib

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ["COLUMNS"] = "80"  # the width of Model.summary() without a terminal
os.environ["LINES"] = "24"

import keras
import numpy as np
import tensorflow as tf

tf.get_logger().setLevel("ERROR")
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
tf.config.experimental.enable_op_determinism()

DATA = pathlib.Path(__file__).resolve().parent / "data"


def start(name):
    """Resets names and seeds for a case; returns its random number generator."""
    keras.utils.clear_session()
    seed = zlib.crc32(name.encode())
    keras.utils.set_random_seed(seed % (2**31))
    return np.random.default_rng(seed)


def normal(rng, shape, scale=1.0, digits=2):
    """Returns random normal float32 values with few decimal digits, so that files stay small."""
    values = np.round(rng.standard_normal(shape) * scale, digits) + 0.0
    return values.astype("float32")


def uniform(rng, shape, low=0.0, high=1.0, digits=2):
    return np.round(rng.uniform(low, high, shape), digits).astype("float32")


def distinct(rng, shape, step=0.05):
    """All values differ: no ties for maximum, so that its gradient is unambiguous."""
    size = int(np.prod(shape))
    values = (rng.permutation(size) - size // 2) * step + step / 2
    return np.round(values, 4).astype("float32").reshape(shape)


def probabilities(rng, shape, digits=3):
    """Rows that sum to one (up to rounding)."""
    values = rng.dirichlet(np.ones(shape[-1]), shape[:-1])
    return np.round(values, digits).astype("float32")


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def tensor(value):
    """Encodes a tensor: shape, dtype, flat data."""
    if value is None:
        return None
    if isinstance(value, tf.IndexedSlices):
        value = tf.convert_to_tensor(value)
    value = np.asarray(value)
    if value.dtype.kind in "OSU":
        data = [text(item) for item in value.ravel()]
        return {"shape": list(value.shape), "dtype": "string", "data": data}
    return {"shape": list(value.shape), "dtype": str(value.dtype), "data": list(value.ravel())}


def variable(value):
    return {"path": value.path, "name": value.name, "trainable": value.trainable} | tensor(value)


def serialize(obj):
    return keras.saving.serialize_keras_object(obj)


def _float_text(value, text):
    if np.isnan(value):
        return '"nan"'
    if np.isinf(value):
        return '"inf"' if value > 0 else '"-inf"'
    return text


def _scalar_text(value):
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (np.float32, np.float16)):
        text = str(value)  # the shortest text that reads back equal
        shorter = text.endswith(".0") and text != "-0.0"
        return _float_text(value, text[:-2] if shorter else text)
    if isinstance(value, (float, np.float64)):
        return _float_text(value, repr(float(value)))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    return json.dumps(value, ensure_ascii=False)


def to_json(value):
    """Returns compact JSON text; float32 values have the fewest digits that read back the same."""
    if isinstance(value, dict):
        items = (f"{json.dumps(str(key))}:{to_json(item)}" for key, item in value.items())
        return "{" + ",".join(items) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(to_json(item) for item in value) + "]"
    return _scalar_text(value)


def write_group(group, cases, path=None):
    """Writes DATA/<group>.json: a header, then one case per line."""
    path = path or DATA / f"{group}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    names = [case["name"] for case in cases]
    assert len(set(names)) == len(names), f"names of cases repeat in {group}"
    head = {"group": group, "keras": keras.__version__, "backend": "tensorflow " + tf.__version__}
    lines = ",\n".join(to_json(case) for case in cases)
    text = to_json(head)[:-1] + ',"cases":[\n' + lines + "\n]}\n"
    json.loads(text)
    path.write_text(text, encoding="utf-8")
    return path
