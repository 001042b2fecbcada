# SPDX-License-Identifier: Apache-2.0
"""Writes ONNX models, with inputs and onnxruntime's outputs, for onnx_import_test.cc.

usage: onnx_models.py FOLDER
"""

import json
import os
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import onnx_branches
import onnx_networks
import onnx_operators
import onnx_sizes

# Data types of arrays that Cornu supports.
KNOWN = ("bool", "uint8", "int8", "int32", "int64", "uint32", "uint64", "float16", "float32",
         "float64")

# Name prefixes of onnx's own models that can't be imported: with computed shapes, gradients,
# sequences, texts, and windows that no layer of Keras has.
UNREAD = ("simple/test_expand_shape_model", "simple/test_gradient_of_",
          "simple/test_sequence_model", "simple/test_strnorm_model",
          "pytorch-converted/test_Conv2d_dilated", "pytorch-converted/test_Conv3d_dilated_strided",
          "pytorch-converted/test_MaxPool1d_stride_padding_dilation",
          "pytorch-converted/test_MaxPool2d_stride_padding_dilation")

# Name prefixes of models that .keras files can't represent.
UNSAVED = "BitShift", "Bitwise", "CumSum 0 1", "CumSum 1"


class Cases:
    """The output: models, each with a file of its arrays back to back."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.list = []

    def write(self, name, model, inputs, outputs, tolerance=1e-5, unread=None, unsaved=UNSAVED):
        stem = str(self.folder / str(len(self.list)))
        data = model if isinstance(model, bytes) else model.SerializeToString()
        pathlib.Path(stem + ".onnx").write_bytes(data)
        with open(stem + ".bin", "wb") as file:
            for x in (*inputs, *outputs):
                file.write(np.ascontiguousarray(x).tobytes())
        describe = lambda xs: [{"dtype": str(x.dtype), "shape": list(x.shape)} for x in xs]
        parsed = onnx.load_from_string(data)
        self.list.append({"name": name, "stem": stem, "inputs": describe(inputs),
                          "outputs": describe(outputs), "tolerance": tolerance, "unread": unread,
                          "unsaved": name.startswith(unsaved),
                          "operators": sorted({node.op_type for node in parsed.graph.node})})

    def add(self, name, nodes, inputs, weights=None, outputs="y", opset=18, axes=None,
            tolerance=1e-5, unread=None):
        """Adds a model of these nodes. Inputs and weights are arrays by name; `axes` names the open
        axes: {"x": ["batch"]}."""
        axes = axes or {}
        kind = lambda x: helper.np_dtype_to_tensor_dtype(x.dtype)

        def value(key, x):
            shape = [(list(axes.get(key, ())) + [None] * x.ndim)[i] or size
                     for i, size in enumerate(x.shape)]
            return helper.make_tensor_value_info(key, kind(x), shape)

        graph = helper.make_graph(
            nodes, "g", [value(key, x) for key, x in inputs.items()],
            [onnx.ValueInfoProto(name=key) for key in outputs.split()],
            [numpy_helper.from_array(np.asarray(w), key) for key, w in (weights or {}).items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                                  ir_version=8)
        try:
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 4
            session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                                   providers=["CPUExecutionProvider"])
            expected = session.run(None, inputs)
        except Exception as error:
            raise RuntimeError(f"{name}: {str(error)[:500]}") from error
        self.write(name, model, list(inputs.values()), expected, tolerance, unread)


def stored(cases):
    """Adds the models of onnx's own tests, most of them written by PyTorch."""
    data = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data"
    for folder in "simple", "pytorch-converted", "pytorch-operator":
        for path in sorted((data / folder).iterdir()):
            model = (path / "model.onnx").read_bytes()
            graph = onnx.load_from_string(model).graph
            initializers = {tensor.name for tensor in graph.initializer}
            names = [value.name for value in graph.input if value.name not in initializers]
            read = lambda file: numpy_helper.to_array(
                onnx.TensorProto.FromString(file.read_bytes()))
            values = graph.input[:1] + graph.output[:1]
            tensors = all(value.type.HasField("tensor_type") for value in values)
            sets = path / "test_data_set_0"
            number = lambda file: int(file.stem.split("_")[1])
            try:
                inputs = [read(f) for f in sorted(sets.glob("input_*.pb"), key=number)]
                outputs = [read(f) for f in sorted(sets.glob("output_*.pb"), key=number)]
            except Exception:  # sequences, and files in other formats
                tensors = False
            if not tensors or len(inputs) < len(names) or not all(
                    str(x.dtype) in KNOWN for x in inputs + outputs):
                inputs, outputs = [], []
            name = f"{folder}/{path.name}"
            cases.write(name, model, inputs[:len(names)], outputs, 1e-3,
                        "any" if name.startswith(UNREAD) else None)


def main():
    cases = Cases(sys.argv[1])
    onnx_operators.add_to(cases)
    onnx_networks.add_to(cases)
    onnx_sizes.add_to(cases)
    onnx_branches.add_to(cases)
    stored(cases)
    with open(os.path.join(sys.argv[1], "cases.json"), "w", encoding="utf-8") as file:
        json.dump(cases.list, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
