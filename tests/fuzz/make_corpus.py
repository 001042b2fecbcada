#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the fuzz targets' seed corpora, of the files that real Keras wrote (tests/golden) and others.

usage: tests/fuzz/make_corpus.py
"""

import gzip
import io
import json
import pathlib
import pickle
import shutil
import struct
import tarfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
FILES = HERE.parent / "golden" / "data" / "files"
MOST = 64 * 1024  # bytes of a seed


def put(target, name, data):
    if len(data) > MOST:
        return
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def from_archives():
    for path in (FILES / "functional.keras", FILES / "sequential.keras"):
        put("archive", path.stem + ".zip", path.read_bytes())
        with zipfile.ZipFile(path) as archive:
            config = archive.read("config.json")
            weights = archive.read("model.weights.h5")
        put("config", path.stem + ".json", config)
        put("hdf5", path.stem + ".h5", weights)
        put("keras", path.stem, config + b"\0" + weights)
    for path in sorted(FILES.glob("*.weights.h5")):
        put("weights", path.name.removesuffix(".weights.h5") + ".h5", path.read_bytes())
    for target in "weights", "hdf5":
        put(target, "dense_legacy.h5", (FILES / "dense_legacy.h5").read_bytes())


def idx():
    types = {"u8": (0x08, "B"), "i16": (0x0B, "h"), "i32": (0x0C, "i"), "f32": (0x0D, "f"),
             "f64": (0x0E, "d")}
    for name, (code, letter) in types.items():
        data = struct.pack(">HBB2I", 0, code, 2, 2, 3) + struct.pack(">6" + letter, *range(6))
        put("idx", name + ".idx", data)
        put("idx", name + ".idx.gz", gzip.compress(data, mtime=0))


def images():
    cases = json.loads((FILES.parent / "images.json").read_text())["cases"]
    for case in cases:
        if case["kind"] == "file":
            put("image", case["name"].replace(" ", "_"), bytes.fromhex(case["hex"]) + b"\4")


def npy(descr, shape, data, version=1, fortran=False):
    header = str({"descr": descr, "fortran_order": fortran, "shape": shape}).encode() + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


def numpy_files():
    seeds = {"f4": npy("<f4", (2, 3), struct.pack("<6f", *range(6))),
             "i2_fortran": npy(">i2", (2, 3), struct.pack(">6h", *range(6)), 2, True),
             "b1": npy("|b1", (), b"\1", 3),
             "empty": npy("<f8", (0, 3), b"")}
    for name, data in seeds.items():
        put("npy", name + ".npy", data)
    seeds["lists"] = npy("|O", (2,), pickled_lists(4))
    for name, method in (("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", method) as archive:
            for member, data in seeds.items():
                archive.writestr(zipfile.ZipInfo(member + ".npy"), data, method)
        put("npz", name + ".npz", file.getvalue())


class Named:
    """Pickled as a name in a module that need not be here."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class Call:
    """Pickled as a call, whose result gets a state."""

    def __init__(self, function, arguments, state=None):
        self.function, self.arguments, self.state = function, arguments, state


class Pickler(pickle._Pickler):
    """Writes calls of what NumPy calls, without NumPy."""

    def save(self, value, *args):
        if isinstance(value, Named):
            self.write(pickle.GLOBAL + f"{value.module}\n{value.name}\n".encode())
        elif isinstance(value, Call):
            self.save(value.function)
            self.save(value.arguments)
            self.write(pickle.REDUCE)
            if value.state is not None:
                self.save(value.state)
                self.write(pickle.BUILD)
        else:
            super().save(value, *args)


def pickled(value, protocol):
    file = io.BytesIO()
    Pickler(file, protocol).dump(value)
    return file.getvalue()


def array(descr, order, shape, elements):
    dtype = Call(Named("numpy", "dtype"), (descr, False, True),
                 (3, order, None, None, None, -1, -1, 63 if descr[0] == "O" else 0))
    return Call(Named("numpy.core.multiarray", "_reconstruct"),
                (Named("numpy", "ndarray"), (0,), b"b"), (1, shape, dtype, False, elements))


def pickled_lists(protocol):
    return pickled(array("O8", "|", (2,), [[1, 2, 300], [70000]]), protocol)


def pickles():
    values = {"none": None, "numbers": [True, False, 0, -1, 255, 65536, -2**40, 2**62, 1.5],
              "texts": {"a": b"b", "c": ("d", "\u00e9\\"), b"\xff": []},
              "array": {b"data": array("u1", "|", (2, 3), bytes(range(6))), b"labels": [1, 2]}}
    for protocol in range(6):
        for name, value in values.items():
            put("pickle", f"{name}_{protocol}", pickled(value, protocol))
        put("pickle", f"lists_{protocol}", pickled_lists(protocol))


def tars():
    formats = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
    for name, form in formats.items():
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w", format=form) as archive:
            for member in ("a", "folder/" + "b" * (90 if form == tarfile.USTAR_FORMAT else 120)):
                info = tarfile.TarInfo(member)
                info.size = len(member)
                archive.addfile(info, io.BytesIO(member.encode()))
            link = tarfile.TarInfo("link")
            link.type, link.linkname = tarfile.SYMTYPE, "a"
            archive.addfile(link)
        put("tar", name + ".tar", file.getvalue())
        put("tar", name + ".tar.gz", gzip.compress(file.getvalue(), mtime=0))


GRAPHS = {
    "dense": """graph(%0: float32[2,3], %1: uint32[2])
  state(%2 "kernel": float32[3,4] -> %7) {
  %3 = matmul(%0, %2) {transpose_a=false, transpose_b=false} : float32[2,4]
  %4 = constant() {value=<float32[4] 1.5 -2.0 inf nan>} : float32[4]
  %5 = add(%3, %4) : float32[2,4]
  %6 = reduce_sum(%5) {axes=[0,1], keepdims=false} : float32[]
  %7 = multiply(%2, %6) : float32[3,4]
  return %6
}""",
    "cond": """graph(%0: bool[], %1: float32[2]) {
  %2 = cond(%0, %1) {then=graph(%0: float32[2]) {
    %1 = exp(%0) : float32[2]
    return %1
  }, else=graph(%0: float32[2]) {
    return %0
  }} : float32[2]
  return %2
}""",
}


def main():
    shutil.rmtree(HERE / "corpus", ignore_errors=True)
    from_archives()
    idx()
    images()
    numpy_files()
    pickles()
    tars()
    for name, text in GRAPHS.items():
        put("graph", name + ".txt", text.encode())


if __name__ == "__main__":
    main()
