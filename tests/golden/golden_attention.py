# SPDX-License-Identifier: Apache-2.0
"""Attention layers, for golden_layers.py."""

import numpy as np
from keras import layers, regularizers

Q, V = (2, 3, 4), (2, 5, 4)
Q_MASK = np.array([[True, True, False], [True, False, False]])
V_MASK = np.array([[True, True, False, True, False], [True] * 5])
DARK = np.array([[False] * 5, [True, False, True, False, True]])
CAUSAL = {"use_causal_mask": True}
SCORES = {"return_attention_scores": True}


def plain_cases(case):
    for cls in [layers.Attention, layers.AdditiveAttention]:
        name = cls.__name__.lower()
        yield case(name, cls, Q, V)
        yield case(f"{name}_key", cls, Q, (2, 5, 6), V)
        for scale in [False, True]:
            key = f"{name}_scale_{scale}".lower()
            yield case(key, lambda cls=cls, scale=scale: cls(use_scale=scale), Q, V, V)
        yield case(f"{name}_causal", cls, Q, V, settings=CAUSAL)
        yield case(f"{name}_scores", cls, Q, V, settings=SCORES)
        yield case(f"{name}_masks", cls, Q, V, mask=[Q_MASK, V_MASK])
        yield case(f"{name}_query_mask", cls, Q, V, mask=[Q_MASK, None])
        yield case(f"{name}_value_mask", cls, Q, V, V, mask=[None, DARK, None])
        yield case(f"{name}_all", cls, Q, V, V, mask=[Q_MASK, V_MASK, None], settings=CAUSAL | SCORES)
        yield case(f"{name}_training", cls, Q, V, training=True)
    for scale in [False, True]:
        yield case(
            f"attention_concat_{scale}".lower(),
            lambda scale=scale: layers.Attention(use_scale=scale, score_mode="concat"),
            Q,
            V,
        )


def head_cases(case):
    heads = layers.MultiHeadAttention
    two, three = ["query", "value"], ["query", "value", "key"]
    attend = np.array([[[True, False, True, True, False]] * 3, [[False] * 5] * 2 + [[True] * 5]])

    def of(name, layer, *inputs, names=two, **rest):
        return case(name, layer, *inputs, names=names, built=min(len(names), 3), **rest)

    plain = lambda: heads(2, 3)
    yield of("mha", plain, Q, V)
    yield of("mha_key", plain, Q, V, (2, 5, 6), names=three)
    yield of("mha_causal", plain, Q, V, settings=CAUSAL)
    yield of("mha_scores", plain, Q, V, settings=SCORES)
    yield of("mha_causal_scores", plain, Q, V, settings=CAUSAL | SCORES)
    masked = ["query", "value", "attention_mask"]
    yield case("mha_mask", plain, Q, V, attend, names=masked, built=2)
    yield case("mha_mask_scores", plain, Q, V, attend, names=masked, built=2, settings=SCORES)
    yield case("mha_mask_causal", plain, Q, V, attend, names=masked, built=2, settings=CAUSAL)
    names = ["query", "value", "value_mask"]
    yield case("mha_value_mask", plain, Q, V, V_MASK, names=names, built=2)
    names = ["query", "value", "key", "key_mask", "value_mask"]
    yield case("mha_key_mask", plain, Q, V, V, DARK, V_MASK, names=names, built=3)
    yield of("mha_value_dim", lambda: heads(2, 3, value_dim=5, output_shape=7, use_bias=False), Q, V)
    yield of("mha_output_shape", lambda: heads(2, 3, output_shape=(2, 3)), Q, V)
    yield of("mha_window", lambda: heads(2, 3, sliding_window=2), Q, V)
    yield of("mha_window_causal", lambda: heads(2, 3, sliding_window=2), Q, V, settings=CAUSAL)
    yield of("mha_gate", lambda: heads(2, 3, value_dim=2, use_gate=True), Q, V)
    dropping = lambda: heads(2, 3, dropout=0.5, seed=1)
    yield of("mha_dropout", dropping, Q, V, training=False)
    yield case("mha_dropout_mask", dropping, Q, V, attend, names=masked, built=2, training=False)
    yield case("mha_dropout_mask_causal", dropping, Q, V, attend, names=masked, built=2,
               training=False, settings=CAUSAL)
    wide = (2, 3, 2, 4)
    yield of("mha_4d", plain, wide, wide)
    yield of("mha_4d_axes", lambda: heads(2, 3, attention_axes=2), wide, wide)
    yield of("mha_4d_axes_scores", lambda: heads(2, 3, attention_axes=[1, 2]), wide, wide, settings=SCORES)
    yield of(
        "mha_everything",
        lambda: heads(
            2,
            3,
            kernel_initializer="he_normal",
            bias_initializer="ones",
            kernel_regularizer=regularizers.L2(0.1),
            bias_regularizer=regularizers.L1(0.2),
            kernel_constraint="max_norm",
            bias_constraint="non_neg",
            name="all",
        ),
        Q,
        V,
    )
    group = lambda: layers.GroupQueryAttention(3, 4, 2)
    yield of("gqa", group, Q, V)
    yield of("gqa_key", group, Q, V, V, names=three)
    yield of("gqa_causal", group, Q, V, settings=CAUSAL)
    yield of("gqa_scores", group, Q, V, settings=SCORES)
    yield case("gqa_mask", group, Q, V, attend, names=masked, built=2)
    yield case("gqa_dropout_mask", lambda: layers.GroupQueryAttention(3, 4, 2, dropout=0.3), Q, V,
               attend, names=masked, built=2, training=False)
    yield of("gqa_one", lambda: layers.GroupQueryAttention(3, 4, 1, use_bias=False), Q, V)
    yield of("gqa_gate", lambda: layers.GroupQueryAttention(3, 4, 4, use_gate=True), Q, V)
    yield of("gqa_window", lambda: layers.GroupQueryAttention(3, 4, 2, sliding_window=1), Q, V)


def cases(case):
    yield from plain_cases(case)
    yield from head_cases(case)
