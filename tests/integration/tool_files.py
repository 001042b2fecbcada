# SPDX-License-Identifier: Apache-2.0
"""Files for tests of the command-line tool, made without NumPy: arrays, archives, images, a model.
"""
import ast
import json
import random
import struct
import zipfile
import zlib

EXAMPLES = 60


def npy(values, shape, code="f"):
    """Returns the bytes of a .npy file: float32 ("f"), int32 ("i") or int64 ("q")."""
    header = str({"descr": {"f": "<f4", "i": "<i4", "q": "<i8"}[code], "fortran_order": False, "shape": shape})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
            + struct.pack(f"<{len(values)}{code}", *values))


def parsed_npy(content):
    """Returns values and shape."""
    (length,) = struct.unpack_from("<H", content, 8)
    header = ast.literal_eval(content[10:10 + length].decode())
    assert header["descr"] == "<f4", header
    data = content[10 + length:]
    return list(struct.unpack(f"<{len(data) // 4}f", data)), header["shape"]


def read_npy(path):
    with open(path, "rb") as file:
        return parsed_npy(file.read())


def png(width, height, color):
    """Returns an image of a single color."""
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data
                + struct.pack(">I", zlib.crc32(kind + data)))
    rows = (b"\0" + bytes(color) * width) * height
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def layer(kind, **config):
    return {"module": "keras.layers", "class_name": kind, "config": config, "registered_name": None}


def sequential(name, *layers):
    return json.dumps({"module": "keras", "class_name": "Sequential", "registered_name": None,
                       "config": {"name": name, "layers": list(layers)}})


def classifier():
    return sequential("net", layer("InputLayer", batch_shape=[None, 8], dtype="float32", name="x"),
                      layer("Dense", name="hidden", units=16, activation="relu"),
                      layer("Dropout", name="drop", rate=0.25),
                      layer("Dense", name="scores", units=3, activation="softmax"))


def of_pictures():
    return sequential("seen", layer("InputLayer", batch_shape=[None, 4, 5, 3], name="x"),
                      layer("Rescaling", name="scaled", scale=1 / 255),
                      layer("GlobalAveragePooling2D", name="mean"))


def called(name, kind, of="", shape=(2,), **config):
    """Returns a layer of a functional model, called on layer `of`, whose output has this shape."""
    tensor = {"class_name": "__keras_tensor__",
              "config": {"shape": [None, *shape], "dtype": "float32", "keras_history": [of, 0, 0]}}
    nodes = [{"args": [tensor], "kwargs": {}}] if of else []
    return {**layer(kind, name=name, **config), "name": name, "inbound_nodes": nodes}


def started(name, *shape):
    return called(name, "InputLayer", batch_shape=[None, *shape], dtype="float32")


def flattened(of, *shape):
    """Makes rows of three numbers, like keras.ops.reshape(x, (-1, 3))."""
    return {**called("reshape", "Reshape", of, shape, newshape=[-1, 3]),
            "module": "keras.src.ops.numpy", "registered_name": "Reshape"}


def functional(inputs, outputs, *layers):
    return json.dumps({"module": "keras", "class_name": "Functional", "registered_name": None,
                       "config": {"name": "net", "layers": layers,
                                  "input_layers": [[name, 0, 0] for name in inputs],
                                  "output_layers": [[name, 0, 0] for name in outputs]}})


def of_two():
    return functional("ab", ["left", "right"], started("a", 2), started("b", 2),
                      called("left", "Dense", "a", units=1), called("right", "Dense", "b", units=2))


def of_one_layer():
    """Returns a model with two outputs from the same layer, which is called twice."""
    model = json.loads(functional("ab", ["both", "both"], started("a", 2), started("b", 2),
                                  called("both", "Dense", "a", units=1)))
    both = model["config"]["layers"][-1]["inbound_nodes"]
    both.append(json.loads(json.dumps(both[0]).replace('"a"', '"b"')))
    model["config"]["output_layers"] = [["both", 0, 0], ["both", 1, 0]]
    return json.dumps(model)


def of_rows():
    """Returns a model with two rows of `rows` for each example, and one of `flat`."""
    return functional(["x"], ["rows", "flat"], started("x", 2, 3), flattened("x", 2, 3),
                      called("rows", "Identity", "reshape", (3,)),
                      called("flat", "Flatten", "x", (2, 3)))


def of_pixels():
    return functional(["x"], ["pixels"], started("x", 2, 2, 3), flattened("x", 2, 2, 3),
                      called("pixels", "Identity", "reshape", (3,)))


def of_integers():
    return sequential("kept", layer("InputLayer", batch_shape=[None, 3], dtype="int64", name="x"),
                      layer("Reshape", name="out", target_shape=[3], dtype="int64"))


def examples(count=EXAMPLES):
    """Returns inputs of eight numbers and labels, for three classes that are easy to tell apart."""
    numbers = random.Random(7)
    y = [i % 3 for i in range(count)]
    x = [numbers.gauss(0, 1) + (2 if j == label else 0) for label in y for j in range(8)]
    return x, y


def weights(path):
    """Returns the bytes of the weights in a .keras file."""
    with zipfile.ZipFile(path) as archive:
        return archive.read("model.weights.h5")
