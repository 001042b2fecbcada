# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers, for golden_layers.py."""

import numpy as np
from keras import layers, regularizers

X = (3, 4, 5)
# Masked: the first step, one in between, the last, none; in DARK, also all steps of a row.
MASK = np.array([[False, True, False, True], [True, False, True, False], [True] * 4])
DARK = np.array([[False] * 4, [True, True, False, False], [False, False, True, True]])
EVERYTHING = {
    "use_bias": False,
    "kernel_initializer": "he_normal",
    "recurrent_initializer": "glorot_normal",
    "kernel_regularizer": regularizers.L2(0.1),
    "recurrent_regularizer": regularizers.L1(0.2),
    "activity_regularizer": regularizers.L2(0.3),
    "return_sequences": True,
    "go_backwards": True,
    "name": "all",
}



def conv_lstm_cases(case):
    everything = {
        "use_bias": False, "unit_forget_bias": False, "activation": "relu",
        "recurrent_activation": "hard_sigmoid", "kernel_initializer": "he_normal",
        "recurrent_initializer": "glorot_normal", "kernel_regularizer": regularizers.L2(0.1),
        "activity_regularizer": regularizers.L2(0.3), "return_sequences": True,
        "go_backwards": True, "name": "all",
    }
    shapes = {1: (2, 3, 6, 2), 2: (2, 3, 5, 6, 2), 3: (1, 2, 4, 5, 4, 2)}
    for rank, shape in shapes.items():
        cls = getattr(layers, f"ConvLSTM{rank}D")
        name = f"conv_lstm{rank}d"
        yield case(f"{name}_default", lambda: cls(3, 2), shape)
        yield case(f"{name}_same_strides", lambda: cls(2, 3, strides=2, padding="same"), shape)
        yield case(f"{name}_dilation", lambda: cls(2, 2, dilation_rate=2), shape)
        yield case(f"{name}_everything", lambda: cls(2, tuple(range(1, 1 + rank)), **everything), shape)
        yield case(f"{name}_states", lambda: cls(2, 2, return_state=True, return_sequences=True), shape)
        yield case(f"{name}_one", lambda: cls(1, 1), (1, 1, *[1] * rank, 1))
    mask = np.array([[False, True, True], [True, False, False]])
    yield case("conv_lstm1d_mask", lambda: layers.ConvLSTM1D(2, 2), shapes[1], mask=mask)
    yield case("conv_lstm2d_mask", lambda: layers.ConvLSTM2D(2, 2, return_sequences=True), shapes[2],
               mask=mask)
    yield case("conv_lstm2d_initial", lambda: layers.ConvLSTM2D(2, 2, padding="same"), shapes[2],
               (2, 5, 6, 2), (2, 5, 6, 2), names=["sequences", "initial_state", "initial_state"])
    yield case("conv_lstm2d_training", lambda: layers.ConvLSTM2D(2, 2, dropout=0.0), shapes[2],
               training=True)


def of_class(cls, states, case):
    name = cls.__name__.lower()
    state_names = ["sequences"] + ["initial_state"] * states
    initial = [(3, 6)] * states
    yield case(f"{name}_default", lambda: cls(6), X)
    yield case(f"{name}_one_step", lambda: cls(6), (3, 1, 5))
    yield case(f"{name}_everything", lambda: cls(6, **EVERYTHING), X)
    relu = {"activation": "relu"}
    if cls is not layers.SimpleRNN:
        relu["recurrent_activation"] = "hard_sigmoid"
    yield case(f"{name}_activations", lambda: cls(6, **relu), X)
    for sequences in [False, True]:
        for backwards in [False, True]:
            for unroll in [False, True]:
                loop = {
                    "return_sequences": sequences,
                    "go_backwards": backwards,
                    "unroll": unroll,
                    "return_state": True,
                }
                key = f"{name}_{sequences}_{backwards}_{unroll}".lower()
                yield case(key, lambda loop=loop: cls(6, **loop), X)
                yield case(f"{key}_masked", lambda loop=loop: cls(6, **loop), X, mask=MASK)
                if backwards and unroll:  # Keras uses the mask of the other end there
                    continue
                zeros = loop | {"zero_output_for_mask": True}
                yield case(f"{key}_zeros", lambda zeros=zeros: cls(6, **zeros), X, mask=DARK)
    yield case(f"{name}_initial", lambda: cls(6), X, *initial, names=state_names)
    yield case(
        f"{name}_initial_masked",
        lambda: cls(6, return_state=True, return_sequences=True),
        X,
        *initial,
        names=state_names,
        mask=DARK,
    )
    yield case(f"{name}_training", lambda: cls(6, dropout=0.0), X, training=True)
    yield case(f"{name}_stateful", lambda: cls(6, stateful=True, return_state=True), X)


# Beyond of_class: masks together with initial states, in both directions, and of both directions.
def masked_cases(cls, case):
    name = cls.__name__.lower()
    states = 2 if cls is layers.LSTM else 1
    for backwards in [False, True]:
        for zeros in [False, True]:
            for sequences in [False, True]:
                loop = {
                    "go_backwards": backwards,
                    "zero_output_for_mask": zeros,
                    "return_sequences": sequences,
                    "return_state": True,
                }
                yield case(
                    f"{name}_initial_masked_{backwards}_{zeros}_{sequences}".lower(),
                    lambda loop=loop: cls(6, **loop),
                    X,
                    *[(3, 6)] * states,
                    names=["sequences"] + ["initial_state"] * states,
                    mask=DARK,
                )
    for sequences in [False, True]:
        yield case(
            f"{name}_bidirectional_masked_{sequences}".lower(),
            lambda sequences=sequences: layers.Bidirectional(cls(6, return_sequences=sequences)),
            X,
            mask=DARK,
        )
    yield case(f"{name}_stateful_masked", lambda: cls(6, stateful=True, return_state=True), X,
               mask=MASK)
    yield case(f"{name}_one_step_masked", lambda: cls(6, return_sequences=True), (3, 1, 5),
               mask=MASK[:, :1])


def cases(case):
    yield from of_class(layers.SimpleRNN, 1, case)
    yield from of_class(layers.LSTM, 2, case)
    yield from of_class(layers.GRU, 1, case)
    yield from conv_lstm_cases(case)
    counts = np.array([[[2, 0, 1], [1, 3, 0]], [[0, 0, 4], [5, 1, 1]]])
    for cls in [layers.SimpleRNN, layers.LSTM, layers.GRU]:
        name = f"{cls.__name__.lower()}_of_integers"
        yield case(name, lambda cls=cls: cls(3, return_sequences=True), counts)
        yield case(f"{name}_bidirectional", lambda cls=cls: layers.Bidirectional(cls(2)), counts)
    yield case("lstm_no_forget_bias", lambda: layers.LSTM(6, unit_forget_bias=False), X)
    yield case("gru_reset_before", lambda: layers.GRU(6, reset_after=False), X)
    yield case("gru_reset_before_no_bias", lambda: layers.GRU(6, reset_after=False, use_bias=False), X)
    yield case("rnn_of_lstm", lambda: layers.RNN(layers.LSTMCell(6), return_sequences=True), X)
    yield case(
        "rnn_stacked",
        lambda: layers.RNN(
            [layers.GRUCell(4), layers.LSTMCell(3), layers.SimpleRNNCell(2)], return_sequences=True
        ),
        X,
        mask=MASK,
    )
    for mode in ["concat", "sum", "mul", "ave", None]:
        for sequences in [False, True]:
            yield case(
                f"bidirectional_{mode}_{sequences}".lower(),
                lambda mode=mode, sequences=sequences: layers.Bidirectional(
                    layers.LSTM(6, return_sequences=sequences), merge_mode=mode
                ),
                X,
                mask=MASK,
            )
    for cls in [layers.LSTM, layers.GRU]:
        yield from masked_cases(cls, case)
    yield case(
        "bidirectional_states",
        lambda: layers.Bidirectional(layers.GRU(6, return_state=True), name="both"),
        X,
        (3, 6),
        (3, 6),
        names=["sequences", "initial_state", "initial_state"],
    )
    yield case(
        "bidirectional_backward_layer",
        lambda: layers.Bidirectional(
            layers.LSTM(6), backward_layer=layers.GRU(4, go_backwards=True)
        ),
        X,
    )
    yield case("time_distributed_dense", lambda: layers.TimeDistributed(layers.Dense(6)), X)
    yield case(
        "time_distributed_conv",
        lambda: layers.TimeDistributed(layers.Conv2D(2, 3, activation="relu")),
        (2, 3, 5, 4, 1),
    )
    yield case(
        "time_distributed_batch_normalization",
        lambda: layers.TimeDistributed(layers.BatchNormalization()),
        X,
        training=True,
    )
    yield case(
        "time_distributed_lstm",
        lambda: layers.TimeDistributed(layers.LSTM(3)),
        (2, 3, 4, 2),
    )
