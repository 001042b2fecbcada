# SPDX-License-Identifier: Apache-2.0
"""Reads Cornu's files with h5py, zipfile and Keras, and writes files for Cornu to read.

interop.py check-h5 FILE | write-h5 FILE LIBVER | check-zip FILE | write-zip FILE | keras FILE
"""

import os
import pathlib
import sys
import zipfile

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from every_dtype import DTYPES, SHAPES, values


def arrays():
    for dtype in DTYPES:
        for i, shape in enumerate(SHAPES):
            yield f"{dtype}/vars/{i}", dtype, values(dtype, shape)


def check_h5(path):
    import h5py
    import ml_dtypes

    with h5py.File(path, "r") as file:
        assert sorted(file) == sorted(DTYPES), list(file)
        for name, dtype, wanted in arrays():
            dataset = file[name]
            if dtype == "bfloat16":
                # Like Keras's H5IOStore.
                assert dataset.attrs["dtype"] == "bfloat16"
                found = np.array(dataset, dtype=ml_dtypes.bfloat16)
            else:
                found = np.array(dataset)
            assert found.dtype == wanted.dtype, (name, found.dtype)
            assert found.shape == wanted.shape, (name, found.shape)
            assert np.array_equal(found, wanted), name
        group = file["float32/vars"]
        assert group.attrs["name"] == "modèle", group.attrs["name"]
        assert group.attrs["count"] == -7


def write_h5(path, libver):
    import h5py

    with h5py.File(path, "w", libver=libver) as file:
        for name, dtype, array in arrays():
            dataset = file.create_dataset(name, data=array)
            if dtype == "bfloat16":
                dataset.attrs["dtype"] = "bfloat16"
        file["float32/vars"].attrs["name"] = "modèle"
        file["float32/vars"].attrs["fixed"] = np.bytes_(b"fixed")
        file["float32/vars"].attrs["count"] = -7
        for i in range(2000):
            file[f"many/{i}"] = np.float32(i)
        file["link"] = h5py.ExternalLink("/etc/passwd", "/")
        file.create_dataset("lzf", data=np.ones(1000), compression="lzf")


def check_zip(path):
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        members = archive.infolist()
        assert [m.filename for m in members] == ["metadata.json", "config.json", "größe"]
        assert all(m.compress_type == zipfile.ZIP_STORED for m in members)
        assert all(m.date_time == (1980, 1, 1, 0, 0, 0) for m in members)
        assert archive.read("config.json") == b"{}" * 500


def write_zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        with archive.open("stored", "w") as member:
            member.write(b"{}" * 500)
        archive.writestr("deflated", b"{}" * 500, compress_type=zipfile.ZIP_DEFLATED)
        # As if the size weren't known in advance.
        with archive.open("large", "w", force_zip64=True) as member:
            member.write(b"{}" * 500)


def keras(path):
    """Writes a trained model's .keras file, and its weights as text: path, shape, dtype, sum."""
    os.environ["KERAS_BACKEND"] = "tensorflow"
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import keras

    keras.utils.set_random_seed(1)
    model = keras.Sequential([
        keras.Input((6,)), keras.layers.Dense(8, activation="relu"),
        keras.layers.BatchNormalization(), keras.layers.Dense(3, dtype="bfloat16", name="out")])
    model.compile("adam", "mse")
    model.fit(np.ones((8, 6), "float32"), np.zeros((8, 3), "float32"), verbose=0)
    model.save(path)
    layers = ["dense", "batch_normalization", "dense_1"]
    groups = [(f"layers/{name}", layer.weights) for name, layer in zip(layers, model.layers)]
    groups.append(("optimizer", model.optimizer.variables))
    with open(path + ".txt", "w") as out:
        for group, variables in groups:
            for i, variable in enumerate(variables):
                array = keras.ops.convert_to_numpy(variable).astype("float64")
                shape = " ".join(str(dim) for dim in array.shape)
                print(f"{group}/vars/{i},{shape},{variable.dtype},{float(array.sum())!r}", file=out)


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    {"check-h5": check_h5, "write-h5": write_h5, "check-zip": check_zip, "write-zip": write_zip,
     "keras": keras}[command](*arguments)
