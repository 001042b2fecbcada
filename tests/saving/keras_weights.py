# SPDX-License-Identifier: Apache-2.0
"""Files of weights that cross between Cornu and real Keras, and their forms that h5py offers.

usage: keras_weights.py write FOLDER    # what Cornu reads
       keras_weights.py check FOLDER    # reads what Cornu wrote
"""
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import h5py  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402

GB = 2**30


def model_of(units=5, last="out"):
    return keras.Sequential([
        keras.Input((4,)), keras.layers.Dense(units, activation="relu", name="hidden"),
        keras.layers.BatchNormalization(name="norm"), keras.layers.Dense(3, name=last)])


def trained():
    keras.utils.set_random_seed(3)
    model = model_of()
    model.compile("adam", "mse")
    random = np.random.default_rng(1)
    x = random.random((8, 4), np.float32)
    model.fit(x, random.random((8, 3), np.float32), verbose=0)
    return model, x


def repack(source, target, libver, **options):
    """Copies a file with its datasets in another form."""
    with h5py.File(source) as old, h5py.File(target, "w", libver=libver) as new:
        def copy(name, thing):
            if isinstance(thing, h5py.Group):
                made = new.require_group(name)
            else:
                data = thing[()]
                more = options if data.ndim else {}  # scalars can't be chunked
                dtype = data.dtype.newbyteorder(">") if options.get("big") else data.dtype
                made = new.create_dataset(
                    name, data=data, dtype=dtype, **{k: v for k, v in more.items() if k != "big"})
            for key, value in thing.attrs.items():
                made.attrs[key] = value
        old.visititems(copy)
        for key, value in old.attrs.items():
            new.attrs[key] = value


def forms(folder, source):
    """Writes every form that Keras's readers accept, too, through libhdf5."""
    every = {"gzip": dict(compression="gzip"),
             "shuffled": dict(compression="gzip", compression_opts=9, shuffle=True),
             "summed": dict(chunks=True, fletcher32=True),
             "all": dict(compression="gzip", shuffle=True, fletcher32=True),
             "big_endian": dict(big=True)}
    for libver in "earliest", "latest":
        for name, options in every.items():
            repack(source, folder / f"{name}_{libver}.weights.h5", libver, **options)


def datasets(path, libver):
    """Writes datasets with each kind of index, whose elements are half their index."""
    with h5py.File(path, "w", libver=libver) as file:
        def add(name, shape, dtype="float32", **options):
            data = (np.arange(int(np.prod(shape))) / 2).reshape(shape).astype(dtype)
            file.create_dataset(name, data=data, dtype=dtype, **options)
        for dtype in "<f2", ">f2", "<f4", ">f4", "<f8", ">f8":
            add(f"float {dtype}", (7, 9), dtype)
            add(f"packed {dtype}", (7, 9), dtype, chunks=(3, 4), compression="gzip", shuffle=True)
        add("grows", (50, 3), chunks=(4, 2), maxshape=(None, 3))
        add("grows sideways", (3, 50), chunks=(2, 4), maxshape=(3, None), compression="gzip")
        add("grows twice", (30, 31), chunks=(2, 3), maxshape=(None, None), fletcher32=True)
        add("bounded", (5, 6), chunks=(2, 4), maxshape=(9, 20))
        add("many", (5000,), chunks=(1,), maxshape=(None,))
        add("fixed many", (3000,), chunks=(1,))
        add("whole", (20, 30), chunks=(20, 30), compression="gzip")
        texts = [f"name {i} of a layer" for i in range(2000)]
        file.attrs["few"] = ["größe", "", "b"]
        file.attrs["fixed"] = np.array([b"abc", b"", b"d"])
        file.create_group("group", track_order=True).attrs["texts"] = texts
        for i in range(40):
            file["group"].attrs[f"n{i}"] = i
        for i in range(300):
            file[f"group/{i}"] = np.float32(i)


def write(folder):
    model, x = trained()
    with h5py.File(folder / "values.h5", "w") as values:
        values["x"], values["y"] = x, model.predict(x, verbose=0)
    model.save_weights(folder / "keras.weights.h5")
    model.save_weights(folder / "shards.weights.json", max_shard_size=100 / GB)
    model.save(folder / "keras.keras")
    model.save(folder / "whole.h5")
    keras.src.legacy.saving.legacy_h5_format.save_weights_to_hdf5_group(
        h5py.File(folder / "legacy.h5", "w"), model)
    forms(folder, folder / "keras.weights.h5")
    repack(folder / "whole.h5", folder / "whole_gzip.h5", "latest", compression="gzip")
    for libver in "earliest", "latest":
        datasets(folder / f"datasets_{libver}.h5", libver)


def check(folder):
    with h5py.File(folder / "values.h5") as values:
        x, y = values["x"][()], values["y"][()]
    for name in "cornu.weights.h5", "cornu_shards.weights.json":
        model = model_of()
        model.compile("adam", "mse")
        model.optimizer.build(model.trainable_variables)
        model.load_weights(folder / name)
        np.testing.assert_allclose(model.predict(x, verbose=0), y, rtol=1e-5, atol=1e-6,
                                   err_msg=name)
        assert int(model.optimizer.iterations.numpy()) == 1, name
    # Like Cornu with the same file and options.
    other = model_of(last="another")
    before = [w.numpy() for w in other.get_layer("another").weights]
    other.load_weights(folder / "legacy.h5", by_name=True)
    np.testing.assert_array_equal(other.get_layer("another").weights[0].numpy(), before[0])
    with h5py.File(folder / "by_name.h5") as found:
        for i, weight in enumerate(other.layers[0].weights + other.layers[1].weights):
            np.testing.assert_array_equal(weight.numpy(), found[str(i)][()])


command, folder = sys.argv[1:]
{"write": write, "check": check}[command](pathlib.Path(folder))
