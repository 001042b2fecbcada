#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the fuzz targets' seed corpora, of the files that real Keras wrote (tests/golden) and others.

usage: tests/fuzz/make_corpus.py
"""

import gzip
import json
import pathlib
import shutil
import struct
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
    for name, text in GRAPHS.items():
        put("graph", name + ".txt", text.encode())


if __name__ == "__main__":
    main()
