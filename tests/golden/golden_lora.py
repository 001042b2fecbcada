# SPDX-License-Identifier: Apache-2.0
"""Layers whose kernel is adapted by two small matrices (LoRA); for golden_layers.py."""

import numpy as np
from keras import layers, regularizers


def cases(case):
    image = (1, 5, 4, 4)
    adapted = {
        # Dense and Embedding have lora_alpha only in their config: build replaces it by the rank.
        "dense": (lambda: layers.Dense(3, lora_rank=2, lora_alpha=6), (2, 4)),
        "dense_regularized": (
            lambda: layers.Dense(
                3, use_bias=False, lora_rank=1, kernel_regularizer=regularizers.L2(0.1)
            ),
            (2, 4),
        ),
        "conv1d": (
            lambda: layers.Conv1D(3, 2, padding="causal", lora_rank=2, lora_alpha=3),
            (2, 5, 2),
        ),
        "conv2d": (lambda: layers.Conv2D(4, 3, lora_rank=2, padding="same"), image),
        "conv2d_groups": (lambda: layers.Conv2D(4, 2, groups=2, lora_rank=3, lora_alpha=1), image),
        "conv3d": (lambda: layers.Conv3D(2, 2, lora_rank=1, lora_alpha=4), (1, 3, 3, 4, 2)),
        "einsum_dense": (
            lambda: layers.EinsumDense(
                "abc,cde->abde", (None, 2, 3), bias_axes="de", lora_rank=2, lora_alpha=5
            ),
            (2, 3, 5),
        ),
        "embedding": (
            lambda: layers.Embedding(5, 3, lora_rank=2, lora_alpha=6),
            np.array([[0, 4, 2], [2, 2, 1]], "int32"),
        ),
        "embedding_masked": (
            lambda: layers.Embedding(
                5, 3, mask_zero=True, lora_rank=1, embeddings_regularizer=regularizers.L2(0.1)
            ),
            np.array([[0, 4, 2], [2, 0, 1]], "int32"),
        ),
    }
    for name, (layer, x) in adapted.items():
        yield case(f"lora_{name}", layer, x)
