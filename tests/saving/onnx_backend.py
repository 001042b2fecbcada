# SPDX-License-Identifier: Apache-2.0
"""Writes the models with which the onnx package tests its operators, for onnx_backend_test.cc.

usage: onnx_backend.py FOLDER

Exits with 77 if the package isn't installed.
"""

import json
import os
import re
import sys
import warnings

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    from onnx.backend.test.loader import load_model_tests

    from onnx_models import KNOWN, Cases
except ImportError:
    sys.exit(77)

LAST_OPSET = 23  # of those that Cornu reads

# Operators of which inputs behind the first one must be constants.
PARAMETERS = set("""
    Conv ConvTranspose CumSum Dropout Expand GRU GroupNormalization InstanceNormalization LSTM
    OneHot PRelu Pad RNN ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean
    ReduceMin ReduceProd ReduceSum ReduceSumSquare Reshape Resize Slice Split Squeeze Tile TopK
    Trilu Unsqueeze Upsample""".split())

# What isn't read: expressions for the beginnings of tests' names.
REFUSED = """
    bernoulli blackmanwindow center_crop_pad col2im compress_ deform_conv basic_deform_conv det_ dft
    eyelike gridsample hammingwindow hannwindow image_decoder linear_attention loop lppool maxunpool
    melweightmatrix nonmaxsuppression nonzero reversesequence roialign scan sce split_to_sequence
    stft tfidfvectorizer unique
"""
# Forms of operators of which others are read.
REFUSED += """
    averagepool_.*dilations batchnorm_.*training_mode convtranspose_group
    convtranspose_output_shape gathernd_example_int32_batch_dim1 gru_batchwise lstm_batchwise
    lstm_with_peepholes maxpool_.*dilations maxpool_with_argmax reduce_max_empty reduce_min_empty
    resize_.*antialias resize_.*not_larger resize_.*not_smaller resize_tf_crop simple_rnn_batchwise
    training_dropout
"""
# Operators, or forms of them, whose expansion into others is read.
EXPANDED = "(affine_grid|attention_.*qk_matmul|flexattention|nllloss)"
REFUSED += EXPANDED + "(?!.*_expanded)"
# Sequences, optional values and texts; other domains; old operator sets; models of sizes alone.
REFUSED += """
    if_opt if_seq identity_opt identity_sequence optional regex sequence string
    adagrad adam ai_onnx_ml momentum nesterov
    not_[234]d
    constant$ constantofshape range shape size$ size_
"""
REFUSED = re.compile("|".join(REFUSED.split()))

# onnxruntime differs, too.
DIFFERENT = [f"resize_downsample_scales_{mode}_align_corners" for mode in ("cubic", "linear")]

# The expected values have four digits.
TOLERANCES = {"averagepool_2d_ceil_last_window_starts_on_pad": 1e-4}

# Tests of ops that Keras lacks.
UNSAVED = ("bitshift", "bitwise", "cumsum_1d_exclusive", "cumsum_1d_int32_exclusive",
           "cumsum_1d_reverse")


def tensors(graph):
    """Yields the data types of all tensors that a graph has, and casts to."""
    for value in (*graph.input, *graph.output):
        yield value.type.tensor_type.elem_type
    yield from (tensor.data_type for tensor in graph.initializer)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                yield attribute.t.data_type
            elif attribute.type == onnx.AttributeProto.GRAPH:
                yield from tensors(attribute.g)
            elif attribute.name in ("to", "dtype", "output_dtype"):
                yield attribute.i


def has_bfloat16(graph):
    """Cornu has it, but NumPy, and thus the files of cases, don't."""
    return TensorProto.BFLOAT16 in tensors(graph)


def is_known(data_type):
    return data_type != TensorProto.UNDEFINED and (
        str(helper.tensor_dtype_to_np_dtype(data_type)) in KNOWN)


def array(x):
    return numpy_helper.to_array(x) if isinstance(x, TensorProto) else np.asarray(x)


def lower_opset(model):
    """Returns whether the model is one of the last operator set that Cornu reads, too."""
    for opset in model.opset_import:
        if opset.domain in ("", "ai.onnx"):
            opset.version = min(opset.version, LAST_OPSET)
    model.ir_version = min(model.ir_version, 11)
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return False
    return True


def fix_parameters(model, inputs):
    """Makes constants of all inputs but the first one, if operators need that; returns the rest."""
    names = [value.name for value in model.graph.input]
    if not any(node.op_type in PARAMETERS and set(node.input[1:]) & set(names)
               for node in model.graph.node):
        return inputs
    for name, x in list(zip(names, inputs))[1:]:
        model.graph.initializer.append(numpy_helper.from_array(x, name))
    del model.graph.input[1:]
    return inputs[:1]


def add_to(cases):
    for test in load_model_tests(kind="node"):
        name, model = test.name.removeprefix("test_"), test.model
        if name in DIFFERENT or has_bfloat16(model.graph) or not lower_opset(model):
            continue
        inputs, outputs = [], []
        known = all(is_known(kind) for kind in tensors(model.graph))
        unread = "any" if REFUSED.match(name) or not known else None
        if not unread:
            inputs, outputs = ([array(x) for x in xs] for xs in test.data_sets[0])
            inputs = fix_parameters(model, inputs)
        half = any(x.dtype == np.float16 for x in outputs)
        tolerance = 2e-3 if half else TOLERANCES.get(name, 1e-5)
        cases.write(name, model, inputs, outputs, tolerance, unread, UNSAVED)


def main():
    warnings.simplefilter("ignore")
    cases = Cases(sys.argv[1])
    add_to(cases)
    with open(os.path.join(sys.argv[1], "cases.json"), "w", encoding="utf-8") as file:
        json.dump(cases.list, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
