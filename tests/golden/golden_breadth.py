# SPDX-License-Identifier: Apache-2.0
"""Layers whose cases aren't spelled out in golden_layers.py: each with its defaults, with all
options set to other values, and with an edge-case shape."""

import keras
import numpy as np
import scipy.signal  # noqa: F401: Keras expects it to be loaded
from keras import layers

LINE, IMAGE, VOLUME = (2, 7, 3), (2, 6, 5, 2), (1, 4, 5, 4, 2)
CONV_OPTIONS = {"activation": "tanh", "use_bias": False, "padding": "same"}
DISTINCT = "distinct"


def conv_cases(case):
    for rank, plain, transposed in [
        (1, layers.Conv1D, layers.Conv1DTranspose), (2, None, layers.Conv2DTranspose),
        (3, layers.Conv3D, None),
    ]:
        shape = {1: LINE, 2: IMAGE, 3: VOLUME}[rank]
        sizes = tuple(range(2, 2 + rank))
        one = (1, *[1] * rank, 2)
        if plain:
            name = f"conv{rank}d"
            yield case(name, lambda: plain(3, 2), shape)
            yield case(f"{name}_same_strides", lambda: plain(2, 3, strides=2, padding="same"), shape)
            yield case(f"{name}_sizes", lambda: plain(4, sizes, **CONV_OPTIONS), shape)
            yield case(f"{name}_dilation", lambda: plain(2, 2, dilation_rate=2), shape)
            yield case(f"{name}_groups", lambda: plain(4, 2, groups=2), shape[:-1] + (4,))
            yield case(f"{name}_one", lambda: plain(2, 1), one)
        if transposed:
            name = f"conv{rank}d_transpose"
            yield case(f"{name}_default", lambda: transposed(3, 2), shape)
            yield case(f"{name}_strides", lambda: transposed(2, 3, strides=2, padding="same"), shape)
            yield case(f"{name}_options", lambda: transposed(2, sizes, **CONV_OPTIONS), shape)
            yield case(f"{name}_output_padding",
                       lambda: transposed(2, 3, strides=3, output_padding=1), shape)
            yield case(f"{name}_one", lambda: transposed(2, 1), one)
    yield case("conv1d_causal", lambda: layers.Conv1D(2, 3, padding="causal"), LINE)
    yield case("conv1d_causal_dilation",
               lambda: layers.Conv1D(2, 2, padding="causal", dilation_rate=3), LINE)
    depthwise = layers.DepthwiseConv1D
    yield case("depthwise_conv1d", lambda: depthwise(2), LINE)
    yield case("depthwise_conv1d_options", lambda: depthwise(3, depth_multiplier=2, strides=2, **CONV_OPTIONS), LINE)
    yield case("depthwise_conv1d_one", lambda: depthwise(1), (1, 1, 2))
    for rank, separable, shape in [(1, layers.SeparableConv1D, LINE), (2, layers.SeparableConv2D, IMAGE)]:
        name = f"separable_conv{rank}d"
        yield case(f"{name}_default", lambda: separable(3, 2), shape)
        yield case(f"{name}_options", lambda: separable(2, 3, depth_multiplier=2, **CONV_OPTIONS), shape)
        yield case(f"{name}_strides", lambda: separable(2, 3, strides=2), shape)
        yield case(f"{name}_one", lambda: separable(2, 1), (1, *[1] * rank, 2))


def pooling_cases(case):
    for kind in ("Max", "Average"):
        for rank, shape in [(1, LINE), (3, VOLUME)]:
            pool = getattr(layers, f"{kind}Pooling{rank}D")
            name = f"{kind.lower()}_pooling{rank}d"
            yield case(name, lambda: pool(2), shape, values=DISTINCT)
            yield case(f"{name}_same", lambda: pool(3, strides=2, padding="same"), shape,
                       values=DISTINCT)
            yield case(f"{name}_overlapping", lambda: pool(2, strides=1), shape, values=DISTINCT)
            whole = getattr(layers, f"Global{kind}Pooling{rank}D")
            name = f"global_{name}"
            yield case(name, lambda: whole(), shape, values=DISTINCT)
            yield case(f"{name}_keepdims", lambda: whole(keepdims=True), shape, values=DISTINCT)
            yield case(f"{name}_one", lambda: whole(), (1, *[1] * rank, 2), values=DISTINCT)
    mask = np.array([[True, True, False, True, False, False, False], [False] * 6 + [True]])
    yield case("global_average_pooling1d_mask", lambda: layers.GlobalAveragePooling1D(), LINE,
               mask=mask)


def reshaping_cases(case):
    yield case("zero_padding1d", lambda: layers.ZeroPadding1D(), LINE)
    yield case("zero_padding1d_pair", lambda: layers.ZeroPadding1D((0, 2)), LINE)
    yield case("zero_padding1d_none", lambda: layers.ZeroPadding1D(0), (1, 1, 1))
    yield case("cropping1d", lambda: layers.Cropping1D(), LINE)
    yield case("cropping1d_pair", lambda: layers.Cropping1D((0, 3)), LINE)
    yield case("cropping1d_to_one", lambda: layers.Cropping1D((3, 3)), LINE)
    yield case("cropping2d_number", lambda: layers.Cropping2D(1), IMAGE)
    yield case("cropping2d_numbers", lambda: layers.Cropping2D((2, 1)), IMAGE)
    yield case("up_sampling1d_one", lambda: layers.UpSampling1D(1), (1, 1, 1))
    yield case("permute_4d", lambda: layers.Permute((2, 3, 1)), (2, 3, 1, 4))
    yield case("repeat_vector_one", lambda: layers.RepeatVector(1), (1, 3))
    yield case("repeat_vector_many", lambda: layers.RepeatVector(5), (3, 1))


def activation_cases(case):
    yield case("elu_zero", lambda: layers.ELU(alpha=0.0), (2, 3, 4))
    yield case("leaky_relu_zero", lambda: layers.LeakyReLU(negative_slope=0.0), (5,))
    yield case("identity_images", lambda: layers.Identity(name="same"), IMAGE)
    yield case("identity_of_one", lambda: layers.Identity(), (1, 1), training=True)
    yield case("prelu_images", lambda: layers.PReLU(), IMAGE)


def regularization_cases(case):
    for inference, options in [("", {}), ("_options", {"seed": 3})]:
        for layer in (layers.GaussianNoise, layers.GaussianDropout, layers.AlphaDropout):
            name = f"{layer.__name__}{inference}_inference"
            yield case(name, lambda: layer(0.3, **options), (2, 3, 4), training=False)
    yield case("gaussian_noise_zero", lambda: layers.GaussianNoise(0.0), (2, 3), training=True)
    yield case("gaussian_dropout_zero", lambda: layers.GaussianDropout(0.0), (2, 3), training=True)
    yield case("alpha_dropout_zero", lambda: layers.AlphaDropout(0.0), (2, 3), training=True)
    for rank, shape in [(1, LINE), (2, IMAGE), (3, VOLUME)]:
        layer = getattr(layers, f"SpatialDropout{rank}D")
        yield case(f"spatial_dropout{rank}d", lambda: layer(0.5), shape, training=False)
        yield case(f"spatial_dropout{rank}d_zero", lambda: layer(0.0, seed=1), shape, training=True)
        yield case(f"spatial_dropout{rank}d_all", lambda: layer(1.0), shape, training=True)
    yield case("activity_regularization_none", lambda: layers.ActivityRegularization(), (2, 3))
    yield case("activity_regularization_l2", lambda: layers.ActivityRegularization(l2=0.3), (2, 3, 4))


def normalization_cases(case):
    norm = layers.GroupNormalization
    yield case("group_normalization_default", lambda: norm(), (2, 3, 64))
    yield case("group_normalization_instance", lambda: norm(groups=-1, epsilon=0.1), IMAGE)
    yield case("group_normalization_plain", lambda: norm(groups=1, center=False, scale=False), IMAGE)
    yield case("group_normalization_axis", lambda: norm(groups=3, axis=1), (2, 6, 5))
    unit = layers.UnitNormalization
    yield case("unit_normalization_axes", lambda: unit(axis=[1, 2]), (2, 3, 4))
    yield case("unit_normalization_zero", lambda: unit(), np.zeros((2, 3), "float32"))


def merging_cases(case):
    shapes = [(2, 3, 4), (2, 3, 4)]
    yield case("subtract_images", lambda: layers.Subtract(), IMAGE, IMAGE)
    yield case("dot_matrices", lambda: layers.Dot(axes=2), *shapes)
    yield case("dot_pair", lambda: layers.Dot(axes=(1, 2)), (2, 4, 3), (2, 5, 4))


def masking_cases(case):
    masked = np.array([[[0, 0], [1, 0], [-1, -1]], [[-1, -1], [2, 3], [0, 0]]], "float32")
    yield case("masking_value", lambda: layers.Masking(-1.0), masked)
    yield case("masking_default", lambda: layers.Masking(), masked)


def cell_cases(case):
    for kind in (layers.SimpleRNNCell, layers.GRUCell, layers.LSTMCell):
        inner = kind.__name__
        options = {"activation": "relu", "use_bias": False, "recurrent_initializer": "glorot_uniform"}
        yield case(f"rnn_of_{inner}", lambda: layers.RNN(kind(3)), LINE)
        yield case(f"rnn_of_{inner}_options",
                   lambda: layers.RNN(kind(2, **options), return_sequences=True, go_backwards=True),
                   LINE)
        yield case(f"rnn_of_stacked_{inner}",
                   lambda: layers.RNN([kind(2), kind(3)], return_sequences=True, unroll=True),
                   (1, 3, 2))


def channels_first_cases(case):
    """Layers over spatial axes with channels first. No output is as wide as its number of channels:
    otherwise Keras on TensorFlow would add the bias along the last axis."""
    line, image, volume = (2, 3, 7), (2, 2, 6, 5), (1, 2, 4, 5, 4)
    first = {"data_format": "channels_first"}
    table = {
        "conv1d": (layers.Conv1D, line, {"filters": 4, "kernel_size": 3, "strides": 2}),
        "conv1d_causal": (layers.Conv1D, line, {"filters": 2, "kernel_size": 3, "padding": "causal"}),
        "conv2d": (layers.Conv2D, image, {"filters": 3, "kernel_size": (2, 3), "padding": "same"}),
        "conv2d_softmax": (layers.Conv2D, image,
                           {"filters": 3, "kernel_size": 2, "activation": "softmax"}),
        "conv3d": (layers.Conv3D, volume, {"filters": 4, "kernel_size": 2, "activation": "tanh"}),
        "conv1d_transpose": (layers.Conv1DTranspose, line,
                             {"filters": 2, "kernel_size": 3, "strides": 2}),
        "conv2d_transpose": (layers.Conv2DTranspose, image,
                             {"filters": 3, "kernel_size": 3, "strides": 2, "padding": "same"}),
        "depthwise_conv2d": (layers.DepthwiseConv2D, image,
                             {"kernel_size": 3, "depth_multiplier": 2}),
        "separable_conv2d": (layers.SeparableConv2D, image, {"filters": 3, "kernel_size": 2}),
        "global_average_pooling1d": (layers.GlobalAveragePooling1D, line, {}),
        "global_max_pooling2d": (layers.GlobalMaxPooling2D, image, {"keepdims": True}),
        "global_average_pooling3d": (layers.GlobalAveragePooling3D, volume, {}),
        "max_pooling1d": (layers.MaxPooling1D, line, {"pool_size": 2}),
        "max_pooling2d": (layers.MaxPooling2D, image,
                          {"pool_size": (3, 2), "strides": 2, "padding": "same"}),
        "average_pooling2d": (layers.AveragePooling2D, image, {"pool_size": 2, "padding": "same"}),
        "average_pooling3d": (layers.AveragePooling3D, volume, {"pool_size": 2}),
        "zero_padding1d": (layers.ZeroPadding1D, line, {"padding": (0, 2)}),
        "zero_padding2d": (layers.ZeroPadding2D, image, {"padding": ((1, 0), (2, 1))}),
        "zero_padding3d": (layers.ZeroPadding3D, volume, {"padding": (1, 0, 2)}),
        "cropping2d": (layers.Cropping2D, image, {"cropping": ((1, 0), (2, 1))}),
        "cropping3d": (layers.Cropping3D, volume, {"cropping": (1, 0, 1)}),
        "up_sampling3d": (layers.UpSampling3D, volume, {"size": (1, 2, 3)}),
        "spatial_dropout2d": (layers.SpatialDropout2D, image, {"rate": 0.0}),
        "flatten_volume": (layers.Flatten, volume, {}),
        "flatten_line": (layers.Flatten, line, {}),
        "flatten_vector": (layers.Flatten, (2, 3), {}),
        "conv_lstm1d": (layers.ConvLSTM1D, (2, 3, 2, 5),
                        {"filters": 2, "kernel_size": 2, "return_sequences": True,
                         "unroll": True}),
        "conv_lstm2d": (layers.ConvLSTM2D, (2, 3, 2, 4, 3), {"filters": 2, "kernel_size": 2,
                                                           "unroll": True}),
    }
    for name, (layer, shape, options) in table.items():
        yield case(f"channels_first_{name}", lambda: layer(**options, **first), shape,
                   values=DISTINCT)
    mask = np.array([[True] * 5 + [False] * 2, [True, False] * 3 + [True]])
    yield case("channels_first_mask", lambda: layers.GlobalAveragePooling1D(**first), line,
               mask=mask)


def spectrogram_cases(case):
    table = {
        "log": {}, "magnitude": {"frame_step": 3, "window": "hamming"},
        "psd": {"fft_length": 12, "scaling": "spectrum"}, "real": {"window": None, "scaling": None},
        "imag": {"periodic": True, "padding": "same"}, "angle": {"expand_dims": True},
        "stft": {"padding": "same", "frame_step": 8},
    }
    for mode, options in table.items():
        for form in ("channels_last", "channels_first"):
            shape = (2, 21, 2) if form == "channels_last" else (2, 2, 21)
            yield case(f"stft_spectrogram_{mode}_{form}",
                       lambda: layers.STFTSpectrogram(mode, 8, data_format=form, **options), shape)
    yield case("stft_spectrogram_one_frame",
               lambda: layers.STFTSpectrogram("stft", 5, 1, expand_dims=True), (1, 5, 1))


@keras.saving.register_keras_serializable("golden")
def scaled(x, factor=2.0):
    return x * factor


@keras.saving.register_keras_serializable("golden")
def difference(x):
    return x[0] - x[1]


def lambda_cases(case):
    yield case("lambda_activation", lambda: layers.Lambda(keras.activations.gelu), (2, 3))
    yield case("lambda_scaled", lambda: layers.Lambda(scaled, arguments={"factor": 3.0}), (2, 3))
    yield case("lambda_shape", lambda: layers.Lambda(scaled, output_shape=(3,)), (1, 3))
    yield case("lambda_difference", lambda: layers.Lambda(difference), (2, 3), (2, 3))


def cases(case):
    """Yields all cases; `case` makes one."""
    for group in (conv_cases, channels_first_cases, spectrogram_cases, pooling_cases,
                  reshaping_cases, activation_cases, normalization_cases, regularization_cases,
                  merging_cases, masking_cases, cell_cases, lambda_cases):
        yield from group(case)
