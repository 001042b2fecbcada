#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the fuzz targets' seed corpora from files written by real Keras (tests/golden) and others.
Needs h5py and onnx.

usage: tests/fuzz/make_corpus.py [PART...]   # functions below; all of them by default

Other seeds are kept: those written by the library (dataset), and those found by fuzzing.
"""

import gzip
import io
import json
import pathlib
import pickle
import struct
import sys
import tarfile
import zipfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
FILES = HERE.parent / "golden" / "data" / "files"
MOST = 64 * 1024  # bytes per seed
FLOAT32 = 9  # DType::Float32


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


def hdf5_forms():
    """Chunks in each kind of index, filters, and attributes in heaps."""
    import h5py
    import numpy as np

    forms = {"gzip": dict(compression="gzip", shuffle=True),
             "sums": dict(chunks=True, fletcher32=True)}
    source = FILES / "dense.weights.h5"
    with zipfile.ZipFile(FILES / "sequential.keras") as archive:
        config = archive.read("config.json")
        weights = archive.read("model.weights.h5")
    for libver in "earliest", "latest":
        file = io.BytesIO()
        with h5py.File(file, "w", libver=libver) as out:
            data = np.arange(63, dtype=">f4").reshape(7, 9)
            any_size = (None, None)
            for name, options in {
                    "single": dict(chunks=(7, 9), compression="gzip"),
                    "fixed": dict(chunks=(2, 4)), "pages": dict(chunks=(1, 1)),
                    "grows": dict(chunks=(2, 9), maxshape=(None, 9), fletcher32=True),
                    "twice": dict(chunks=(2, 4), maxshape=any_size, shuffle=True)}.items():
                out.create_dataset(name, data=data, **options)
            for i in range(12):
                out.attrs[f"n{i}"] = i
            out.attrs["layer_names"] = ["a", "größe", ""]
        put("hdf5", f"chunks_{libver}.h5", file.getvalue())
        for name, options in forms.items():
            for target, content in (("weights", source.read_bytes()), ("keras", weights)):
                file = io.BytesIO()
                with h5py.File(io.BytesIO(content)) as old, h5py.File(
                        file, "w", libver=libver) as new:
                    def copy(path, thing):
                        if isinstance(thing, h5py.Group):
                            new.require_group(path)
                        else:
                            value = thing[()]
                            new.create_dataset(path, data=value, **(options if value.ndim else {}))
                    old.visititems(copy)
                prefix = config + b"\0" if target == "keras" else b""
                put(target, f"{name}_{libver}", prefix + file.getvalue())


def packed_archives():
    for name, method in (("deflated", zipfile.ZIP_DEFLATED), ("mixed", zipfile.ZIP_STORED)):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", method) as archive:
            for member in ("config.json", "model.weights.h5"):
                archive.writestr(zipfile.ZipInfo(member), member.encode() * 20, method)
            archive.writestr(zipfile.ZipInfo("packed"), bytes(1000), zipfile.ZIP_DEFLATED)
        put("archive", name + ".zip", file.getvalue())


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
    """Pickled as a name in a module that needn't be installed."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class Call:
    """Pickled as a call, whose result is given a state."""

    def __init__(self, function, arguments, state=None):
        self.function, self.arguments, self.state = function, arguments, state


class Pickler(pickle._Pickler):
    """Writes the calls that NumPy's pickles contain, without NumPy."""

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


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def records():
    file = b""
    for record in (b"", b"one", bytes(range(200))):
        length = struct.pack("<Q", len(record))
        file += length + masked_crc(length) + record + masked_crc(record)
    put("tfrecord", "plain", b"\0" + file)
    put("tfrecord", "gzip", b"\1" + gzip.compress(file, mtime=0))
    put("tfrecord", "zlib", b"\2" + zlib.compress(file))


def field(number, data):
    """Returns a bytes field of a protocol buffer, shorter than 128 bytes."""
    return bytes((number << 3 | 2, len(data))) + data


def examples():
    features = b""
    for name, kind, values in ((b"i", 3, field(1, b"\x05\xac\x02")),
                               (b"f", 2, field(1, struct.pack("<2f", 0.5, -1))),
                               (b"s", 1, field(1, b"text") + field(1, b""))):
        features += field(1, field(1, name) + field(2, field(kind, values)))
    steps = field(1, field(2, field(1, struct.pack("<2f", 1, 2)))) * 2
    lists = field(1, field(1, b"f") + field(2, steps))
    put("example", "example", field(1, features))
    put("example", "sequence", field(1, features) + field(2, lists))
    put("example", "unpacked", field(1, field(1, field(1, b"i") + field(
        2, field(3, b"\x08\x05\x08\x06")))))


def tables():
    put("csv", "quoted", b'\0a,b\r\n1.5,"x ""y"",\nz"\r-2e3,NA\n')
    put("csv", "plain", b'\x01"1,2\n\n3,"x",y')


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


def session(*lines):
    """Messages, one per line; the first byte of each line says whose session it is in."""
    return "\n".join(who + json.dumps(message) for who, message in lines).encode()


def exchange(*calls):
    """What a rank sends in calls, each (kind, dtype, count, content): a header, and the content."""
    stream = b""
    for i, (kind, dtype, count, content) in enumerate(calls):
        counts = 14695981039346656037  # FNV-1a of the counts
        segments = 0 if count is None else 1
        if segments:
            counts = (counts ^ count) * 1099511628211 % 2**64
        stream += struct.pack("<QQqqiiii16x", i, counts, count or 0, segments, kind, dtype, 0, 0)
        stream += content + bytes(-len(content) % 64)
    return stream


def wire():
    """The first byte selects the target's parser for the others."""
    link = f"CORNULNK {3:020} {0:010} {1:010} "
    put("wire", "preface", b"p" + link.encode() + b"0" * 64 + b"\n")
    put("wire", "http2", b"pPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    hello = {"kind": "hello", "protocol": 1, "nonce": "1"}
    def join(rank):
        return {"kind": "join", "proof": "?", "rank": rank, "generation": 0,
                "facts": {"version": "1"}, "inbox": {}}
    ready = {"kind": "ready", "generation": 1, "shares_memory": True}
    left = {"kind": "leave", "generation": 1, "calls": 7}
    formed = [(str(rank), message) for step in (lambda rank: hello, join, lambda rank: ready)
              for rank, message in ((0, step(0)), (1, step(1)))]
    put("wire", "job", b"c" + session(*formed, ("0", {"kind": "heartbeat"}), ("0", left), ("1", left)))
    put("wire", "stopped", b"c" + session(*formed, ("1", {"kind": "stopped", "generation": 1,
                                                           "why": "the disk is full"})))
    failed = {"kind": "failed", "generation": 1, "calls": 7, "failure": 1, "code": 3, "why": "no step"}
    put("wire", "failed", b"c" + session(*formed, ("1", failed), ("0", failed)))
    again = {**join(0), "generation": 1, "lost": 1}
    put("wire", "lost", b"c" + session(*formed, ("0", again), ("!", {"kind": "heartbeat"})))
    put("wire", "differs", b"c" + session(*formed[:3], ("1", {**join(1), "facts": {"version": "2"}})))
    inbox = {"space": "?", "process": 1, "descriptor": 3, "tag": "00" * 16}
    worker = [{"kind": "challenge", "nonce": "0", "proof": "?"},
              {"kind": "waiting", "for": ["worker 0 (host0:1)"]},
              {"kind": "members", "generation": 1, "nonce": "2",
               "members": [{"inbox": inbox}, {"inbox": {}}]},
              {"kind": "start", "generation": 1, "shares_memory": False},
              {**failed, "name": "worker 0 (host0:1)"},
              {"kind": "left", "name": "worker 0", "generation": 1, "calls": 7},
              {"kind": "lost", "rank": 0, "name": "worker 0 (host0:1)", "why": "killed"},
              {"kind": "busy", "why": "again"}, {"kind": "bye"}]
    put("wire", "worker", b"w" + session(*(("", message) for message in worker)))
    put("wire", "fenced", b"w" + session(*(("", message) for message in worker[:3] + worker[6:])))
    floats = struct.pack("<3f", 1, 2, 3)
    small = [(4, -1, None, b""), (0, FLOAT32, 3, floats), (2, -1, 8, b"12345678"),
             (3, -1, 8, b"12345678")]
    put("wire", "small", b"e0" + exchange(*small))
    ring = struct.pack("<9000f", *range(9000))
    put("wire", "ring", b"e0" + exchange(*small, (0, FLOAT32, 9000, ring)))
    directory = struct.pack("<qq16xqQQ", 0, 3, 1, 0, 0)
    again = (0, FLOAT32, 9000, b"")  # all have read, all have written
    put("wire", "direct", b"e1" + exchange(*small, (0, FLOAT32, 9000, directory), again, again))


def calls():
    def call(json_text, tensors=(), data=b""):
        head = json.dumps([json_text, [list(tensor) for tensor in tensors]]).encode()
        return len(head).to_bytes(4, "little") + head + data

    put("call", "empty", call({}))
    put("call", "read", call({"job": "a", "keys": ["1/0"], "versions": [-1]}))
    put("call", "tensors", call({"update": 3}, [("float32", [2, 3]), ("int64", []), ("bool", [0])],
                                bytes(range(32))))
    put("call", "cut", call({}, [("float64", [9])], bytes(8)))


def onnx_models():
    """Small models with most operators; needs onnx."""
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    def node(op, inputs, outputs, **attributes):
        """Names are separated by single spaces; two spaces in a row leave a name out."""
        return helper.make_node(op, inputs.split(" "), outputs.split(" "),
                                name=outputs.split(" ")[0], **attributes)

    def model(name, nodes, weights, x, opset=18, y="y", kind=TensorProto.FLOAT):
        draw = np.random.default_rng(1)
        tensors = [numpy_helper.from_array(
            np.asarray(w) if not isinstance(w, tuple) else draw.normal(size=w).astype("f"), key)
            for key, w in weights.items()]
        graph = helper.make_graph(
            nodes, "g", [helper.make_tensor_value_info("x", kind, x)],
            [helper.make_tensor_value_info(key, TensorProto.FLOAT, None) for key in y.split()],
            tensors)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        put("onnx", name + ".onnx", made.SerializeToString())

    ints = lambda *values: np.array(values, np.int64)
    model("convolutions", [
        node("Conv", "x w b", "c", pads=[1, 1, 1, 1]),
        node("BatchNormalization", "c s s2 m v", "n"), node("Relu", "n", "r"),
        node("Conv", "r d", "e", group=4, strides=[2, 2]),
        node("MaxPool", "e", "p", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("AveragePool", "p", "q", kernel_shape=[2, 2], ceil_mode=1),
        node("ConvTranspose", "q t", "u", strides=[2, 2]),
        node("GlobalAveragePool", "u", "a"), node("Flatten", "a", "f"),
        node("Gemm", "f k", "g", transB=1), node("Softmax", "g", "y")],
          {"w": (4, 3, 3, 3), "b": (4,), "s": (4,), "s2": (4,), "m": (4,),
           "v": np.ones(4, "f"), "d": (8, 1, 3, 3), "t": (8, 2, 3, 3), "k": (5, 2)},
          ["N", 3, 16, 16])
    model("shapes", [
        node("Shape", "x", "s"), node("Gather", "s zero", "rows"),
        node("Unsqueeze", "rows zeros", "row"), node("Concat", "row rest", "to", axis=0),
        node("Reshape", "x to", "r"), node("Transpose", "r", "t", perm=[0, 2, 1]),
        node("Slice", "t one five one", "l"), node("Pad", "l pads", "p"),
        node("Split", "p", "a b", axis=2, num_outputs=2), node("Concat", "b a", "c", axis=1),
        node("Expand", "c big", "e"), node("Where", "cond e e", "w"),
        node("ReduceMean", "w one", "m"), node("TopK", "m one", "v i", axis=2),
        node("Tile", "v reps", "y")],
          {"zero": np.int64(0), "zeros": ints(0), "rest": ints(-1, 6), "one": ints(1),
           "five": ints(5), "pads": ints(0, 0, 1, 0, 0, 1), "big": ints(1, 1, 1),
           "cond": np.array(True), "reps": ints(1, 2, 1)}, ["N", 4, 6])
    model("attention", [
        node("Gather", "table x", "e"), node("LayerNormalization", "e g b", "n"),
        node("MatMul", "n q", "q1"), node("Add", "q1 qb", "q2"), node("MatMul", "n k", "k1"),
        node("Transpose", "k1", "kt", perm=[0, 2, 1]), node("MatMul", "q2 kt", "s"),
        node("Div", "s eight", "d"), node("Softmax", "d", "p"), node("MatMul", "p n", "a"),
        node("Gelu", "a", "y")],
          {"table": (11, 8), "g": (8,), "b": (8,), "q": (8, 8), "qb": (8,), "k": (8, 8),
           "eight": np.float32(8)}, ["N", "T"], 20, kind=TensorProto.INT64)
    model("recurrences", [
        node("LSTM", "x w r b", "h hn cn", hidden_size=3, direction="bidirectional"),
        node("ReduceMax", "hn one", "z", keepdims=0), node("Identity", "z", "y")],
          {"w": (2, 12, 4), "r": (2, 12, 3), "b": (2, 24), "one": ints(0)}, [5, "N", 4],
          y="h y")
    model("gru", [node("GRU", "x w r b", "h y", hidden_size=3, linear_before_reset=1)],
          {"w": (1, 9, 4), "r": (1, 9, 3), "b": (1, 18)}, [5, "N", 4])
    model("old", [
        node("Clip", "x", "c", min=0.0, max=6.0), node("Upsample", "c s", "u"),
        node("Unsqueeze", "u", "e", axes=[0]), node("Squeeze", "e", "q", axes=[0]),
        node("Dropout", "q", "d"), node("ReduceSum", "d", "r", axes=[2], keepdims=0),
        node("Slice", "r", "y", starts=[1], ends=[-1], axes=[1])],
          {"s": np.array([1, 1, 2, 2], "f")}, ["N", 4, 3, 3], 9)
    model("constants", [
        node("ConstantOfShape", "s", "z"), node("Range", "a b c", "r"),
        node("Cast", "r", "f", to=TensorProto.FLOAT), node("Add", "f z", "g"),
        node("Mul", "x g", "h"), node("OneHot", "x2 d v", "o"),
        node("MatMul", "h o", "y")],
          {"s": ints(4), "a": np.int64(0), "b": np.int64(4), "c": np.int64(1),
           "x2": ints(0, 2, 1, 0), "d": np.int64(3), "v": np.array([0, 1], "f")}, ["N", 4])
    model("resizing", [
        node("Resize", "x  s", "r", mode="linear"), node("DepthToSpace", "r", "d", blocksize=2),
        node("SpaceToDepth", "d", "t", blocksize=2), node("Resize", "t  s", "u", mode="cubic"),
        node("LRN", "u", "l", size=3), node("PRelu", "l p", "i"),
        node("InstanceNormalization", "i g g2", "y")],
          {"s": np.array([1, 1, 2, 1.5], "f"), "p": (4, 1, 1), "g": (4,), "g2": (4,)},
          ["N", 4, 6, 6])


def sounds():
    def wav(kind, bits, samples):
        frame = 2 * bits // 8
        form = struct.pack("<HHIIHH", kind, 2, 100, 100 * frame, frame, bits)
        parts = b"WAVE"
        for name, content in ((b"LIST", b"ab"), (b"fmt ", form), (b"data", samples)):
            parts += name + struct.pack("<I", len(content)) + content
        return b"RIFF" + struct.pack("<I", len(parts)) + parts

    for kind, bits in ((1, 8), (1, 16), (1, 24), (1, 32), (3, 32), (3, 64)):
        put("wav", f"{'float' if kind == 3 else 'int'}{bits}.wav", wav(kind, bits, b"\x3f\x80" * 24))


def main():
    if sys.argv[1:]:
        for part in sys.argv[1:]:
            globals()[part]()
        return
    from_archives()
    hdf5_forms()
    packed_archives()
    idx()
    images()
    numpy_files()
    pickles()
    tars()
    records()
    examples()
    tables()
    wire()
    calls()
    onnx_models()
    sounds()
    for name, text in GRAPHS.items():
        put("graph", name + ".txt", text.encode())


if __name__ == "__main__":
    main()
