# SPDX-License-Identifier: Apache-2.0
"""Checks exported models (onnx_cases.cc): onnx's checker accepts them, and onnxruntime returns
Cornu's predictions."""

import json
import os
import sys
from collections import Counter

import numpy as np
import onnx
import onnxruntime


def tensors(described, file):
    for tensor in described:
        count = int(np.prod(tensor["shape"], dtype=np.int64))
        yield np.fromfile(file, tensor["dtype"], count).reshape(tensor["shape"])


def difference(found, wanted):
    """Returns the largest difference, relative for numbers above 1; infinite when either is NaN."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"{found.dtype}{found.shape} instead of {wanted.dtype}{wanted.shape}"
    if not found.size:
        return 0.0
    a, b = found.astype(np.float64), wanted.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        off = np.where(same, 0, np.abs(a - b) / np.maximum(1, np.abs(b)))
    return float(np.max(np.where(np.isnan(off), np.inf, off)))


LOOPS = {"LSTM", "GRU", "RNN", "Scan", "Loop"}


def misplaced(case):
    """Yields problems with the placement of tensors' bytes."""
    model = onnx.load(case["stem"] + ".onnx", load_external_data=False)
    names = []
    for tensor in model.graph.initializer:
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            continue
        names.append(tensor.name)
        entries = {entry.key: entry.value for entry in tensor.external_data}
        if entries["location"] != os.path.basename(case["stem"]) + ".onnx.data":
            yield f"'{tensor.name}' is in {entries['location']}"
        if int(entries["offset"]) % 4096:
            yield f"'{tensor.name}' begins at {entries['offset']}"
    if case["external"] is not None and sorted(names) != sorted(case["external"]):
        yield f"external initializers {names}"


def problems(case):
    onnx.checker.check_model(case["stem"] + ".onnx", full_check=True)
    yield from misplaced(case)
    model = onnx.load(case["stem"] + ".onnx")
    graph = model.graph
    if model.opset_import[0].version != case["opset"]:
        yield f"operator set {model.opset_import[0].version}"
    names = {tensor.name for tensor in graph.initializer}
    for name in case["weights"]:
        if name not in names:
            yield f"no initializer '{name}' among {sorted(names)}"
    operators = [node.op_type for node in graph.node]
    if case["operators"] and operators != case["operators"]:
        yield f"operators {operators}"
    loops = [operator for operator in operators if operator in LOOPS]
    if case["loops"] is not None and sorted(loops) != sorted(case["loops"]):
        yield f"loops {loops}"
    if case["open_batch"]:
        for value in graph.input:
            if value.type.tensor_type.shape.dim[0].dim_param != "batch":
                yield f"input '{value.name}' has a fixed batch"
    session = onnxruntime.InferenceSession(case["stem"] + ".onnx",
                                           providers=["CPUExecutionProvider"])
    with open(case["stem"] + ".bin", "rb") as file:
        for run in case["runs"]:
            given = {value.name: x for value, x in zip(graph.input, tensors(run["inputs"], file))}
            wanted = list(tensors(run["outputs"], file))
            found = session.run(None, given)
            if len(found) != len(wanted):
                yield f"{len(found)} outputs instead of {len(wanted)}"
            for i, (a, b) in enumerate(zip(found, wanted)):
                off = difference(a, b)
                case["greatest"] = max(case.get("greatest", 0), off if isinstance(off, float) else 0)
                if isinstance(off, str) or off > case["tolerance"]:
                    yield f"output {i} differs by {off} for shapes {[x.shape for x in given.values()]}"


def main():
    onnxruntime.set_default_logger_severity(3)
    with open(sys.argv[1], encoding="utf-8") as file:
        cases = json.load(file)
    wrong = 0
    kinds = Counter()
    for case in cases:
        try:
            found = list(problems(case))
            kinds.update({node.op_type for node in onnx.load(case["stem"] + ".onnx").graph.node})
        except Exception as error:  # the checker and the runtime throw many classes
            found = [f"{type(error).__name__}: {str(error)[:600]}"]
        for problem in found:
            print(f"{case['name']}: {problem}")
        wrong += bool(found)
    runs = sum(len(case["runs"]) for case in cases)
    greatest = max(case.get("greatest", 0) for case in cases)
    print(f"{len(cases)} models, {runs} batches, {len(kinds)} operators; greatest difference "
          f"{greatest:.1e}; {wrong} models are wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
