# SPDX-License-Identifier: Apache-2.0
"""Convolutions and recurrent layers with regularized and constrained weights; for golden_layers.py,
which also writes the weights after the constraints are applied."""

from keras import constraints, layers, regularizers

LINE, IMAGE, VOLUME = (2, 7, 3), (2, 6, 5, 2), (1, 4, 5, 4, 2)


def of_weights(*names):
    """Returns a regularizer and a constraint for each of these weights."""
    made = {
        "kernel": (regularizers.L1L2(0.1, 0.2), constraints.MaxNorm(0.5)),
        "bias": (regularizers.L1(0.3), constraints.NonNeg()),
        "recurrent": (regularizers.L2(0.1), constraints.MinMaxNorm(0.3, 0.8, rate=0.5)),
        "depthwise": (regularizers.L2(0.2), constraints.UnitNorm(axis=[0, 1])),
        "pointwise": (regularizers.L1(0.1), constraints.MinMaxNorm(0.2, 0.6)),
    }
    options = {"activity_regularizer": regularizers.L2(0.05)}
    for name in names:
        options[f"{name}_regularizer"], options[f"{name}_constraint"] = made[name]
    return options


def cases(case):
    """Yields all cases; `case` makes one."""
    convolutions = [
        (layers.Conv1D, LINE),
        (layers.Conv2D, IMAGE),
        (layers.Conv3D, VOLUME),
        (layers.Conv1DTranspose, LINE),
        (layers.Conv2DTranspose, IMAGE),
        (layers.Conv3DTranspose, VOLUME),
    ]
    for cls, shape in convolutions:
        yield case(f"constrained_{cls.__name__}",
                   lambda cls=cls: cls(3, 2, **of_weights("kernel", "bias")), shape)
    for cls, shape in [(layers.DepthwiseConv1D, LINE), (layers.DepthwiseConv2D, IMAGE)]:
        yield case(f"constrained_{cls.__name__}",
                   lambda cls=cls: cls(2, depth_multiplier=2, **of_weights("depthwise", "bias")),
                   shape)
    for cls, shape in [(layers.SeparableConv1D, LINE), (layers.SeparableConv2D, IMAGE)]:
        yield case(f"constrained_{cls.__name__}",
                   lambda cls=cls: cls(3, 2, **of_weights("depthwise", "pointwise", "bias")), shape)
    for cls in (layers.SimpleRNN, layers.LSTM, layers.GRU):
        yield case(f"constrained_{cls.__name__}",
                   lambda cls=cls: cls(4, **of_weights("kernel", "recurrent", "bias")), (3, 4, 5))
    yield case("constrained_ConvLSTM2D",
               lambda: layers.ConvLSTM2D(2, 2, **of_weights("kernel", "recurrent", "bias")),
               (2, 3, 4, 5, 2))
