# SPDX-License-Identifier: Apache-2.0
"""Writes files with NumPy and pickle for Cornu to read, reads files that Cornu wrote, and runs
Keras's own loaders on small datasets.

keras_data.py write-numpy FOLDER | check-numpy FOLDER | write-pickles FOLDER | datasets FOLDER
"""

import gzip
import io
import json
import pathlib
import pickle
import struct
import sys
import tarfile

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from every_dtype import DTYPES, SHAPES, values


def arrays():
    for dtype in DTYPES:
        for i, shape in enumerate(SHAPES):
            yield f"{dtype}_{i}", values(dtype, shape)


def forms(array):
    """An array in each byte order and memory order."""
    yield "c", array
    yield "f", np.array(array, order="F")
    if array.dtype.kind != "V":
        big = array.astype(array.dtype.newbyteorder(">"))
        yield "big", big
        yield "big_f", np.array(big, order="F")


def write_numpy(folder):
    everything = dict(arrays())
    for name, array in everything.items():
        for form, stored in forms(array):
            np.save(folder / f"{name}_{form}.npy", stored)
            with open(folder / f"{name}_{form}_2.npy", "wb") as file:
                np.lib.format.write_array(file, stored, version=(2, 0))
    np.savez(folder / "stored.npz", **everything)
    np.savez_compressed(folder / "deflated.npz", **everything)
    np.savez(folder / "unnamed.npz", np.arange(3, dtype="int32"), np.zeros(2, "float32"))
    lists = np.empty(3, dtype=object)
    lists[:] = [[1, 2, 300], [], [-70000]]
    of_arrays = np.empty(2, dtype=object)
    of_arrays[:] = [np.array([1, 2], "int16"), np.array([3], ">i8")]
    np.savez(folder / "ragged.npz", lists=lists, of_arrays=of_arrays)


def check_numpy(folder):
    import ml_dtypes

    for name, array in arrays():
        stored = [np.load(folder / f"{name}.npy")]
        stored += [np.load(folder / f"{file}.npz")[name] for file in ("stored", "deflated")]
        for found in stored:
            if name.startswith("bfloat16"):
                found = found.view(ml_dtypes.bfloat16)
            assert found.dtype == array.dtype and found.shape == array.shape, name
            assert np.array_equal(found, array), name
        # The bytes are the same, too.
        file = io.BytesIO()
        np.save(file, array)
        assert file.getvalue() == (folder / f"{name}.npy").read_bytes(), name
    unnamed = np.load(folder / "unnamed.npz")
    assert unnamed.files == ["arr_0", "arr_1"], unnamed.files


def write_pickles(folder):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        content = {name: list(form for _, form in forms(array)) for name, array in arrays()
                   if not name.startswith("bfloat16")}
        content["scalars"] = [np.float32(1.5), np.int64(-7), np.uint8(200), np.bool_(True)]
        content["plain"] = (None, True, -1, 2**40, 0.25, "é☃", b"\x00\xff", [b""], {})
        with open(folder / f"{protocol}.pickle", "wb") as file:
            pickle.dump(content, file, protocol)


class Python2Pickler(pickle._Pickler):
    """Writes bytes like the strings of Python 2."""

    dispatch = dict(pickle._Pickler.dispatch)

    def save_bytes(self, text):
        self.write(pickle.BINSTRING + struct.pack("<i", len(text)) + text)
        self.memoize(text)

    dispatch[bytes] = save_bytes


def cifar_batch(seed, count, label_keys):
    pixels = (np.arange(3072) * (seed + 1) + np.arange(count)[:, None] * 13) % 251
    labels = {key: [(seed + i * (k + 3)) % 10 for i in range(count)]
              for k, key in enumerate(label_keys)}
    batch = {b"batch_label": b"x", b"data": pixels.astype("uint8"), **labels}
    file = io.BytesIO()
    Python2Pickler(file, 2).dump(batch)
    return file.getvalue()


def write_tar(path, members):
    with gzip.open(path, "wb", compresslevel=1) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for name, content in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))


def ragged(random, count):
    lists = np.empty(count, dtype=object)
    lists[:] = [random.integers(1, 90, random.integers(1, 30)).tolist() for _ in range(count)]
    return lists


def write_datasets(folder):
    random = np.random.default_rng(5)
    np.savez(folder / "imdb.npz", x_train=ragged(random, 60), y_train=np.arange(60),
             x_test=ragged(random, 40), y_test=np.arange(40) + 100)
    np.savez(folder / "reuters.npz", x=ragged(random, 77), y=np.arange(77))
    np.savez(folder / "boston_housing.npz", x=random.normal(size=(51, 13)), y=np.arange(51.0))
    np.savez(folder / "california_housing.npz", x=random.normal(size=(700, 8)).astype("float32"),
             y=np.arange(700, dtype="float32"))
    index = {"the": 1, "fawn": 34701, "l'été": 7}
    for name in ("imdb", "reuters"):
        (folder / f"{name}_word_index.json").write_text(json.dumps(index))
    batches = {f"cifar-10-batches-py/data_batch_{i}": cifar_batch(i, 10000, [b"labels"])
               for i in (4, 1, 5, 2, 3)}
    batches["cifar-10-batches-py/test_batch"] = cifar_batch(9, 30, [b"labels"])
    write_tar(folder / "cifar-10-python.tar.gz", batches)
    write_tar(folder / "cifar-100-python.tar.gz",
              {f"cifar-100-python/{part}": cifar_batch(count, count,
                                                       [b"fine_labels", b"coarse_labels"])
               for part, count in (("train", 50), ("test", 20))})
    fashion = folder / "fashion-mnist"
    fashion.mkdir()
    for part, count in (("train", 5), ("t10k", 3)):
        images = struct.pack(">4I", 0x803, count, 28, 28) + bytes(i % 256 for i in range(784 * count))
        labels = struct.pack(">2I", 0x801, count) + bytes(range(count))
        (fashion / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(images))
        (fashion / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels))


# The options of keras_data_test.cc, in the same order.
WORD_OPTIONS = [{}, {"num_words": 50}, {"num_words": 40, "skip_top": 10, "oov_char": None},
                {"maxlen": 12}, {"start_char": None}, {"index_from": 0},
                {"start_char": None, "index_from": 0, "seed": 7}, {"skip_top": 20, "oov_char": 99}]


def put_words(expected, prefix, splits):
    for name, (x, y) in zip(("train", "test"), splits):
        expected[f"{prefix}_{name}_values"] = np.array([w for words in x for w in words], "int64")
        expected[f"{prefix}_{name}_lengths"] = np.array([len(words) for words in x], "int64")
        expected[f"{prefix}_{name}_y"] = np.asarray(y)


def put_arrays(expected, prefix, splits, step=1):
    for name, (x, y) in zip(("train", "test"), splits):
        expected[f"{prefix}_{name}_x"] = np.ascontiguousarray(x[::step])
        expected[f"{prefix}_{name}_y"] = y


def keras_datasets(folder):
    """What Keras's loaders return for the files in `folder`, made to look like finished downloads.
    """
    import keras
    from keras.src.datasets import (boston_housing, california_housing, cifar10, cifar100,
                                    fashion_mnist, imdb, reuters)

    keras.config.set_image_data_format("channels_last")

    def get_file(fname=None, origin=None, extract=False, cache_subdir="", **_):
        path = folder / pathlib.Path(cache_subdir).name / pathlib.PurePosixPath(origin).name
        if not extract:
            return str(path)
        with tarfile.open(path) as archive:
            archive.extractall(folder / fname, filter="data")
        return str(folder / fname)

    for module in (boston_housing, california_housing, cifar10, cifar100, fashion_mnist, imdb,
                   reuters):
        module.get_file = get_file

    expected = {}
    for i, options in enumerate(WORD_OPTIONS):
        put_words(expected, f"imdb_{i}", imdb.load_data(**options))
        put_words(expected, f"reuters_{i}", reuters.load_data(test_split=0.3, **options))
    put_arrays(expected, "boston", boston_housing.load_data())
    put_arrays(expected, "boston_7", boston_housing.load_data(test_split=0.33, seed=7))
    put_arrays(expected, "california", california_housing.load_data())
    put_arrays(expected, "california_small", california_housing.load_data("small"))
    put_arrays(expected, "cifar10", cifar10.load_data(), step=997)
    put_arrays(expected, "cifar100_fine", cifar100.load_data())
    put_arrays(expected, "cifar100_coarse", cifar100.load_data("coarse"))
    put_arrays(expected, "fashion_mnist", fashion_mnist.load_data())
    expected["words"] = np.array([imdb.get_word_index()["fawn"],
                                  reuters.get_word_index()["l'été"]])
    np.savez(folder / "expected.npz", **expected)
    (folder / "topics.json").write_text(json.dumps(reuters.get_label_names()))


def keras_audio(folder):
    """WAV files of two classes written by TensorFlow, and what Keras's dataset yields for them."""
    import keras
    import tensorflow as tf

    rng = np.random.default_rng(3)
    for name, length, channels in (("low/a", 5, 1), ("low/b", 9, 1), ("high/c", 7, 1)):
        path = folder / "sounds" / f"{name}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        samples = rng.uniform(-1.2, 1.2, (length, channels)).astype("f")
        np.save(folder / f"{path.stem}.npy", samples)
        path.write_bytes(tf.audio.encode_wav(samples, 8000).numpy())
    expected = {}
    for name, options in (("padded", {}), ("cut", {"output_sequence_length": 6})):
        dataset = keras.utils.audio_dataset_from_directory(folder / "sounds", shuffle=False,
                                                           batch_size=2, **options)
        for i, (x, y) in enumerate(dataset):
            expected[f"{name}_x{i}"], expected[f"{name}_y{i}"] = x.numpy(), y.numpy()
    shuffled = keras.utils.audio_dataset_from_directory(folder / "sounds", seed=9, batch_size=None,
                                                        validation_split=0.34, subset="validation")
    expected["validation"] = next(iter(shuffled))[0].numpy()
    np.savez(folder / "expected.npz", **expected)


def main():
    command, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    if command == "write-numpy":
        write_numpy(folder)
    elif command == "check-numpy":
        check_numpy(folder)
    elif command == "write-pickles":
        write_pickles(folder)
    elif command == "audio":
        keras_audio(folder)
    else:
        write_datasets(folder)
        keras_datasets(folder)


if __name__ == "__main__":
    main()
