# SPDX-License-Identifier: Apache-2.0
"""Dense layers by equation, reversible embeddings, wrappers, normalization by RMS and by singular
values, adaptive pooling, transposed convolutions of volumes; for golden_layers.py."""

import numpy as np
from keras import constraints, layers, regularizers


def einsum_cases(case):
    dense = layers.EinsumDense
    table = {
        "default": ({"equation": "ab,bc->ac", "output_shape": 4}, (2, 3)),
        "sequence": ({"equation": "abc,cd->abd", "output_shape": (None, 4)}, (2, 3, 5)),
        "sequence_bias": (
            {"equation": "abc,cd->abd", "output_shape": (3, 4), "bias_axes": "bd"},
            (2, 3, 5),
        ),
        "heads": (
            {"equation": "abc,cde->abde", "output_shape": (None, 2, 3), "bias_axes": "de"},
            (2, 3, 5),
        ),
        "heads_one_bias": (
            {"equation": "abc,cde->abde", "output_shape": (None, 2, 3), "bias_axes": "d"},
            (2, 3, 5),
        ),
        "from_heads": ({"equation": "abcd,cde->abe", "output_shape": (None, 4)}, (2, 3, 2, 5)),
        "shared_axis": ({"equation": "abc,bcd->abd", "output_shape": (3, 4)}, (2, 3, 5)),
        "summed_axis": ({"equation": "abc,cd->ad", "output_shape": 4}, (2, 3, 5)),
        "elided_left": (
            {"equation": "...x,xy->...y", "output_shape": 4, "bias_axes": "y"},
            (2, 3, 2, 5),
        ),
        "elided_left_2": ({"equation": "...xy,yz->...xz", "output_shape": (3, 4)}, (2, 3, 5)),
        "elided_right": (
            {"equation": "ab...,bc->ac...", "output_shape": 4, "bias_axes": "c"},
            (2, 3, 2, 5),
        ),
        "elided_nothing": ({"equation": "ab...,bc->ac...", "output_shape": 4}, (2, 3)),
        "one_of_each": ({"equation": "ab,bc->ac", "output_shape": 1, "bias_axes": "c"}, (1, 1)),
        "everything": (
            {
                "equation": "abc,cd->abd",
                "output_shape": (None, 4),
                "activation": "tanh",
                "bias_axes": "d",
                "kernel_initializer": "he_normal",
                "bias_initializer": "ones",
                "kernel_regularizer": regularizers.L2(0.1),
                "bias_regularizer": regularizers.L1(0.2),
                "activity_regularizer": regularizers.L2(0.3),
                "kernel_constraint": constraints.NonNeg(),
                "bias_constraint": constraints.MaxNorm(1.0),
                "name": "all",
            },
            (2, 3, 5),
        ),
    }
    for name, (options, shape) in table.items():
        yield case(f"einsum_dense_{name}", lambda options=options: dense(**options), shape)


def embedding_cases(case):
    embedding = layers.ReversibleEmbedding
    indices = np.array([[0, 3, 1], [4, 1, 1]], "int32")
    reverse = {"reverse": True}
    everything = {
        "tie_weights": False,
        "embeddings_initializer": "normal",
        "embeddings_regularizer": regularizers.L2(0.1),
        "embeddings_constraint": constraints.NonNeg(),
        "mask_zero": True,
        "reverse_dtype": "float32",
        "logit_soft_cap": 0.5,
        "name": "all",
    }
    for name, options in {
        "default": {},
        "untied": {"tie_weights": False},
        "soft_cap": {"logit_soft_cap": 2.0},
        "everything": everything,
        "lora": {"lora_rank": 2, "lora_alpha": 6, "mask_zero": True},
    }.items():
        make = lambda options=options: embedding(5, 3, **options)
        yield case(f"reversible_embedding_{name}", make, indices)
        yield case(f"reversible_embedding_{name}_back", make, (2, 4, 3), settings=reverse)
    yield case("reversible_embedding_one", lambda: embedding(1, 1), np.zeros((1,), "int32"))


def normalization_cases(case):
    rms = layers.RMSNormalization
    yield case("rms_normalization", rms, (2, 3, 4))
    # Keras broadcasts the scale of other axes over the last ones.
    yield case(
        "rms_normalization_everything",
        lambda: rms(axis=(2, 1), epsilon=0.5, name="all"),
        (2, 3, 4),
    )
    yield case("rms_normalization_one", rms, (1, 1))
    spectral = layers.SpectralNormalization
    inner = {
        "dense": (lambda: layers.Dense(4, activation="relu"), (3, 5)),
        "conv": (lambda: layers.Conv2D(3, 2), (2, 4, 3, 2)),
        "einsum": (lambda: layers.EinsumDense("ab,bcd->acd", (2, 3)), (3, 5)),
    }
    for name, (make, shape) in inner.items():
        for training in [False, True]:
            suffix = "training" if training else "inference"
            yield case(
                f"spectral_normalization_{name}_{suffix}",
                lambda make=make: spectral(make()),
                shape,
                training=training,
            )
    yield case(
        "spectral_normalization_everything",
        lambda: spectral(layers.Dense(4, name="inner"), power_iterations=3, name="all"),
        (3, 5),
        training=True,
    )
    yield case(
        "spectral_normalization_one",
        lambda: spectral(layers.Dense(1)),
        (1, 1),
        training=True,
    )


def pooling_cases(case):
    sizes = {
        1: [(6, 3), (7, 3), (5, 5), (3, 5), (7, 1), (1, 1), (8, 5)],
        2: [((4, 6), 2), ((5, 7), (2, 3)), ((3, 2), (4, 2)), ((5, 4), (1, 4))],
        3: [((4, 2, 6), 2), ((5, 3, 4), (2, 3, 1)), ((2, 3, 2), (3, 2, 2))],
    }
    for kind in "Average", "Max":
        for axes, table in sizes.items():
            cls = getattr(layers, f"Adaptive{kind}Pooling{axes}D")
            for size, output in table:
                if kind == "Max" and 1 in np.atleast_1d(output):
                    continue  # TensorFlow's gradient reads uninitialized memory there
                shape = size if isinstance(size, tuple) else (size,)
                text = "x".join(map(str, shape)) + "_" + str(output).strip("()").replace(", ", "x")
                yield case(
                    f"adaptive_{kind.lower()}_pooling{axes}d_{text}",
                    lambda cls=cls, output=output: cls(output),
                    (2, *shape, 2),
                    values="distinct",
                )
            yield case(
                f"adaptive_{kind.lower()}_pooling{axes}d_channels_first",
                lambda cls=cls: cls(2, data_format="channels_first"),
                (1, 2, *[4] * axes),
            )


def conv_cases(case):
    conv = layers.Conv3DTranspose
    table = {
        "default": ({}, (1, 2, 3, 2, 2)),
        "same_strides2": ({"strides": 2, "padding": "same"}, (1, 2, 2, 3, 2)),
        "strides_1_2_3": ({"strides": (1, 2, 3)}, (1, 2, 1, 2, 2)),
        "one": ({}, (1, 1, 1, 1, 1)),
        "everything": (
            {
                "strides": (2, 2, 2),
                "padding": "same",
                "data_format": "channels_last",
                "output_padding": (1, 0, 1),
                "activation": "tanh",
                "use_bias": False,
                "kernel_initializer": "he_normal",
                "bias_initializer": "ones",
                "kernel_regularizer": regularizers.L2(0.1),
                "bias_regularizer": regularizers.L1(0.2),
                "activity_regularizer": regularizers.L2(0.3),
                "kernel_constraint": constraints.NonNeg(),
                "bias_constraint": constraints.MaxNorm(1.0),
                "name": "all",
            },
            (1, 2, 1, 2, 2),
        ),
    }
    for name, (options, shape) in table.items():
        yield case(
            f"conv3d_transpose_{name}", lambda options=options: conv(2, (2, 3, 2), **options), shape
        )


def pipeline_cases(case):
    make = layers.Pipeline
    yield case("pipeline", lambda: make([layers.Dense(4, activation="tanh"), layers.Dense(2)]),
               (3, 5))
    yield case("pipeline_of_statistics", lambda: make(
        [layers.Rescaling(2.0), layers.BatchNormalization(), layers.Flatten()]), (3, 2, 4),
        training=True)
    yield case("pipeline_trains_by_default", lambda: make([layers.BatchNormalization()]), (4, 3))


def cases(case):
    yield from einsum_cases(case)
    yield from embedding_cases(case)
    yield from normalization_cases(case)
    yield from pooling_cases(case)
    yield from conv_cases(case)
    yield from pipeline_cases(case)
