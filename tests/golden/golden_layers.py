# SPDX-License-Identifier: Apache-2.0
"""Layers: outputs, gradients of inputs and weights, weights after the call."""

import common
import golden_attention
import golden_breadth
import golden_constrained
import golden_core
import golden_lora
import golden_quantization
import golden_recurrent
import keras
import numpy as np
import tensorflow as tf
from keras import layers, regularizers

NORMAL, DISTINCT = "normal", "distinct"


def case(
    name, layer, *inputs, training=None, values=NORMAL, names=None, mask=None, settings=None, built=1
):
    """layer: makes the layer; inputs: shapes of random inputs, or arrays; names: the inputs' names
    among the call's arguments, where a repeated name makes a list, and the first `built` inputs go
    to build; mask: for the first input, or a list; settings: further arguments."""
    return {
        "name": name,
        "layer": layer,
        "inputs": inputs,
        "training": training,
        "values": values,
        "names": names,
        "mask": mask,
        "settings": settings,
        "built": built,
    }


def dense_cases():
    image = (2, 3)
    for activation in [None, "relu", "sigmoid", "tanh", "softmax", "gelu"]:
        yield case(
            f"dense_{activation or 'linear'}",
            lambda activation=activation: layers.Dense(4, activation=activation),
            image,
        )
    yield case("dense_no_bias", lambda: layers.Dense(3, use_bias=False), (2, 4))
    yield case("dense_3d", lambda: layers.Dense(4, activation="tanh"), (2, 3, 5))
    yield case("dense_4d", lambda: layers.Dense(2), (2, 2, 3, 4))
    yield case("dense_one_unit", lambda: layers.Dense(1, activation="sigmoid"), (5, 3))
    yield case(
        "dense_regularized",
        lambda: layers.Dense(
            3,
            kernel_regularizer=regularizers.L2(0.1),
            bias_regularizer=regularizers.L1(0.2),
            activity_regularizer=regularizers.L2(0.3),
        ),
        (2, 4),
    )


def conv_cases():
    conv = layers.Conv2D
    image = (2, 6, 5, 3)
    odd = (1, 7, 5, 2)
    yield case("conv2d_valid", lambda: conv(4, 3), image)
    yield case("conv2d_same", lambda: conv(4, 3, padding="same"), image)
    yield case("conv2d_valid_strides2", lambda: conv(3, 3, strides=2), (2, 7, 6, 2))
    yield case("conv2d_same_strides2_odd", lambda: conv(3, 3, 2, padding="same"), odd)
    yield case("conv2d_same_strides2_even", lambda: conv(3, 3, 2, padding="same"), (1, 6, 8, 2))
    yield case("conv2d_same_even_kernel", lambda: conv(2, (2, 4), padding="same"), odd)
    yield case("conv2d_same_strides_2_3", lambda: conv(2, 5, (2, 3), padding="same"), (1, 8, 7, 2))
    yield case("conv2d_stride_over_kernel", lambda: conv(2, 1, 3, padding="same"), (1, 7, 8, 2))
    yield case("conv2d_valid_dilation2", lambda: conv(3, 3, dilation_rate=2), (1, 7, 6, 2))
    yield case(
        "conv2d_same_dilation2", lambda: conv(3, 3, padding="same", dilation_rate=2), (1, 7, 6, 2)
    )
    yield case("conv2d_groups2", lambda: conv(4, 3, groups=2), (2, 5, 5, 4))
    yield case(
        "conv2d_groups2_same_strides2",
        lambda: conv(6, 3, 2, padding="same", groups=2),
        (1, 5, 6, 4),
    )
    yield case("conv2d_1x1", lambda: conv(4, 1), (2, 3, 4, 3))
    yield case("conv2d_1x1_strides2", lambda: conv(4, 1, strides=2), (2, 5, 4, 3))
    yield case("conv2d_kernel_2x3", lambda: conv(3, (2, 3)), image)
    yield case("conv2d_relu", lambda: conv(4, 3, activation="relu"), image)
    yield case("conv2d_no_bias", lambda: conv(2, 3, use_bias=False), image)
    yield case("conv2d_single_channel", lambda: conv(4, 3, activation="relu"), (2, 6, 6, 1))
    depthwise = layers.DepthwiseConv2D
    yield case("depthwise_valid", lambda: depthwise(3), (2, 5, 5, 3))
    yield case("depthwise_multiplier2", lambda: depthwise(3, depth_multiplier=2), (2, 5, 4, 2))
    yield case("depthwise_same", lambda: depthwise(3, padding="same"), (1, 5, 4, 3))
    yield case("depthwise_strides2", lambda: depthwise(3, strides=2), (1, 7, 7, 2))
    yield case(
        "depthwise_same_strides2", lambda: depthwise(3, 2, padding="same"), (1, 7, 6, 2)
    )
    yield case("depthwise_dilation2", lambda: depthwise(3, dilation_rate=2), (1, 7, 6, 2))
    yield case(
        "depthwise_same_multiplier2_relu",
        lambda: depthwise((2, 3), padding="same", depth_multiplier=2, activation="relu"),
        (1, 4, 5, 2),
    )
    yield case("depthwise_no_bias", lambda: depthwise(2, use_bias=False), (1, 4, 4, 2))


def pooling_cases():
    for kind, pool in [("max", layers.MaxPooling2D), ("average", layers.AveragePooling2D)]:
        arguments = {
            "2x2": ({}, (2, 4, 4, 2)),
            "2x2_odd": ({}, (1, 5, 7, 2)),
            "2x2_same_odd": ({"padding": "same"}, (1, 5, 7, 2)),
            "3x3_strides2_valid": ({"pool_size": 3, "strides": 2}, (1, 7, 6, 2)),
            "3x3_strides2_same": ({"pool_size": 3, "strides": 2, "padding": "same"}, (1, 7, 6, 2)),
            "3x3_strides1_same": ({"pool_size": 3, "strides": 1, "padding": "same"}, (1, 4, 5, 2)),
            "2x3": ({"pool_size": (2, 3)}, (1, 6, 7, 2)),
            "2x3_strides_1_2_same": (
                {"pool_size": (2, 3), "strides": (1, 2), "padding": "same"},
                (1, 4, 6, 2),
            ),
        }
        for name, (options, shape) in arguments.items():
            yield case(
                f"{kind}_pooling2d_{name}",
                lambda pool=pool, options=options: pool(**({"pool_size": 2} | options)),
                shape,
                values=DISTINCT,
            )
    for kind, pool in [
        ("average", layers.GlobalAveragePooling2D),
        ("max", layers.GlobalMaxPooling2D),
    ]:
        for keepdims in [False, True]:
            yield case(
                f"global_{kind}_pooling2d" + ("_keepdims" if keepdims else ""),
                lambda pool=pool, keepdims=keepdims: pool(keepdims=keepdims),
                (2, 3, 4, 2),
                values=DISTINCT,
            )
        yield case(
            f"global_{kind}_pooling2d_channels_first",
            lambda pool=pool: pool(data_format="channels_first"),
            (2, 3, 2, 2),
            values=DISTINCT,
        )


def reshaping_cases():
    yield case("flatten", lambda: layers.Flatten(), (2, 3, 2, 2))
    yield case("flatten_1d", lambda: layers.Flatten(), (3,))
    yield case(
        "flatten_channels_first", lambda: layers.Flatten(data_format="channels_first"), (2, 3, 2, 2)
    )
    yield case("reshape", lambda: layers.Reshape((3, 4)), (2, 12))
    yield case("reshape_unknown", lambda: layers.Reshape((-1, 2)), (2, 3, 4))
    yield case("reshape_image", lambda: layers.Reshape((2, 3, 1)), (2, 6))
    yield case("permute", lambda: layers.Permute((2, 1)), (2, 3, 4))
    yield case("permute_3d", lambda: layers.Permute((3, 1, 2)), (2, 2, 3, 2))
    yield case("repeat_vector", lambda: layers.RepeatVector(3), (2, 4))
    yield case("zero_padding2d", lambda: layers.ZeroPadding2D(1), (1, 2, 3, 2))
    yield case("zero_padding2d_pair", lambda: layers.ZeroPadding2D((1, 2)), (1, 2, 3, 1))
    yield case(
        "zero_padding2d_uneven", lambda: layers.ZeroPadding2D(((0, 1), (2, 1))), (1, 2, 3, 2)
    )
    yield case("cropping2d", lambda: layers.Cropping2D(((1, 0), (1, 2))), (1, 4, 5, 2))
    for layer in "ZeroPadding3D", "Cropping3D":
        for name, size in ("", 1), ("_by_axis", (1, 0, 2)), ("_uneven", ((0, 1), (1, 2), (2, 0))):
            yield case(
                f"{layer.lower()}{name}",
                lambda layer=layer, size=size: getattr(layers, layer)(size),
                (1, 4, 5, 6, 2),
            )
    yield case("up_sampling1d", lambda: layers.UpSampling1D(), (2, 3, 2))
    yield case("up_sampling1d_3", lambda: layers.UpSampling1D(3), (1, 2, 1))
    yield case("up_sampling3d", lambda: layers.UpSampling3D(), (1, 2, 1, 2, 2))
    yield case("up_sampling3d_1x2x3", lambda: layers.UpSampling3D((1, 2, 3)), (2, 1, 2, 2, 1))
    yield case(
        "up_sampling3d_channels_first",
        lambda: layers.UpSampling3D((2, 1, 3), data_format="channels_first"),
        (1, 2, 1, 2, 3),
    )
    yield case("up_sampling2d_nearest", lambda: layers.UpSampling2D(), (1, 2, 3, 2))
    # TensorFlow rounds bicubic offsets to 1/1024; scaling by 2 and 4 is exact.
    for kind in "bilinear", "bicubic", "lanczos3", "lanczos5":
        yield case(
            f"up_sampling2d_{kind}",
            lambda kind=kind: layers.UpSampling2D((2, 4), interpolation=kind),
            (2, 3, 4, 2),
        )
    for kind in "nearest", "bilinear":
        yield case(
            f"up_sampling2d_{kind}_channels_first",
            lambda kind=kind: layers.UpSampling2D(
                (2, 3), data_format="channels_first", interpolation=kind
            ),
            (2, 2, 3, 4),
        )
    yield case("up_sampling2d_nearest_2x3", lambda: layers.UpSampling2D((2, 3)), (1, 2, 2, 1))


def normalization_cases():
    batch = layers.BatchNormalization
    for training in [True, False]:
        suffix = "training" if training else "inference"
        table = {
            "2d": ({}, (4, 3)),
            "4d": ({}, (2, 3, 2, 3)),
            "no_scale": ({"scale": False}, (4, 3)),
            "no_center": ({"center": False}, (4, 3)),
            "plain": ({"scale": False, "center": False}, (4, 3)),
            "axis1": ({"axis": 1}, (2, 3, 2, 2)),
            "momentum09": ({"momentum": 0.9, "epsilon": 1e-5}, (5, 2)),
        }
        for name, (options, shape) in table.items():
            yield case(
                f"batch_normalization_{name}_{suffix}",
                lambda options=options: batch(**options),
                shape,
                training=training,
            )
    clipping = {"rmax": 1.2, "rmin": 0.9, "dmax": 0.3}
    for name, options, shape in [
        ("renorm", {"renorm": True}, (4, 3)),
        ("renorm_clipped", {"renorm": True, "renorm_clipping": clipping, "renorm_momentum": 0.8,
                            "momentum": 0.9, "moving_variance_initializer": keras.initializers.Constant(0.5),
                            "axis": 1}, (2, 3, 2, 2)),
        ("renorm_plain", {"renorm": True, "scale": False, "center": False,
                          "renorm_clipping": {"dmax": 0.1}}, (5, 2)),
    ]:
        for training in [True, False]:
            yield case(
                f"batch_normalization_{name}_{'training' if training else 'inference'}",
                lambda options=options: batch(**options),
                shape,
                training=training,
            )
    yield case("batch_normalization_default_call", lambda: batch(), (4, 3))
    yield case(
        "batch_normalization_not_trainable", lambda: batch(trainable=False), (4, 3), training=True
    )
    yield case("batch_normalization_one_sample", lambda: batch(), (1, 3), training=True)
    norm = layers.LayerNormalization
    yield case("layer_normalization", lambda: norm(), (3, 4))
    yield case("layer_normalization_3d", lambda: norm(), (2, 3, 4))
    yield case("layer_normalization_axis_1_2", lambda: norm(axis=[1, 2]), (2, 3, 4))
    yield case("layer_normalization_axis1", lambda: norm(axis=1), (2, 3, 4))
    yield case("layer_normalization_no_scale", lambda: norm(scale=False), (3, 4))
    yield case("layer_normalization_no_center", lambda: norm(center=False, epsilon=1e-5), (3, 4))


def activation_cases():
    names = (
        "relu sigmoid tanh softmax softplus softsign elu selu gelu silu exponential linear "
        "leaky_relu relu6 hard_sigmoid log_softmax mish"
    )
    for name in names.split():
        scale = 4.0 if name in ("relu6", "hard_sigmoid") else 1.5
        x = common.normal(np.random.default_rng(11), (2, 5), scale)
        yield case(f"activation_{name}", lambda name=name: layers.Activation(name), x)
    x = common.normal(np.random.default_rng(12), (3, 6), 2.0)
    yield case("relu", lambda: layers.ReLU(), x)
    yield case("relu_max_value", lambda: layers.ReLU(max_value=1.5), x)
    yield case("relu_negative_slope", lambda: layers.ReLU(negative_slope=0.1), x)
    yield case("relu_threshold", lambda: layers.ReLU(threshold=0.5), x)
    yield case(
        "relu_all", lambda: layers.ReLU(max_value=2.0, negative_slope=0.2, threshold=0.7), x
    )
    yield case("leaky_relu", lambda: layers.LeakyReLU(), x)
    yield case("leaky_relu_slope", lambda: layers.LeakyReLU(negative_slope=0.05), x)
    yield case("elu", lambda: layers.ELU(), x)
    yield case("elu_alpha", lambda: layers.ELU(alpha=0.5), x)
    yield case("prelu", lambda: layers.PReLU(), x)
    yield case("prelu_shared_axes", lambda: layers.PReLU(shared_axes=[1, 2]), (1, 2, 3, 2))
    yield case("softmax", lambda: layers.Softmax(), x)
    yield case("softmax_axis1", lambda: layers.Softmax(axis=1), (2, 3, 4))
    yield case("softmax_axes", lambda: layers.Softmax(axis=(1, 2)), (2, 3, 4))


def merging_cases():
    shape = (2, 3)
    for name in ["Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"]:
        merge = getattr(layers, name)
        lower = name.lower()
        pair = two_distinct(lower, shape)
        yield case(lower, lambda merge=merge: merge(), *pair)
        if name != "Subtract":
            yield case(f"{lower}_three", lambda merge=merge: merge(), *pair, [[5.0] * 3] * 2)
        yield case(f"{lower}_broadcast", lambda merge=merge: merge(), *two_distinct(
            lower, (2, 3, 2), (2, 1, 2)
        ))
    yield case("concatenate", lambda: layers.Concatenate(), (2, 3), (2, 2))
    yield case("concatenate_three", lambda: layers.Concatenate(), (2, 1, 3), (2, 1, 2), (2, 1, 1))
    yield case("concatenate_axis1", lambda: layers.Concatenate(axis=1), (2, 1, 3), (2, 2, 3))
    images = (1, 2, 2, 2), (1, 1, 2, 2)
    yield case("concatenate_axis1_images", lambda: layers.Concatenate(1), *images)
    yield case("dot", lambda: layers.Dot(axes=1), (2, 3), (2, 3))
    yield case("dot_normalize", lambda: layers.Dot(axes=-1, normalize=True), (2, 3), (2, 3))


def two_distinct(name, first, second=None):
    """Returns two arrays without equal elements."""
    rng = np.random.default_rng(len(name))
    second = second or first
    count = int(np.prod(first))
    values = common.distinct(rng, (count + int(np.prod(second)),), 0.15)
    return values[:count].reshape(first), values[count:].reshape(second)


def preprocessing_cases():
    rng = np.random.default_rng(5)
    pixels = rng.integers(0, 256, (2, 2, 3, 1)).astype("uint8")
    yield case("rescaling", lambda: layers.Rescaling(0.5, offset=-1.0), (2, 3))
    yield case("rescaling_uint8", lambda: layers.Rescaling(1.0 / 255), pixels)
    yield case("rescaling_uint8_offset", lambda: layers.Rescaling(1.0 / 127.5, -1), pixels)
    yield case("rescaling_int32", lambda: layers.Rescaling(0.1), np.arange(-3, 3, dtype="int32"))
    yield case(
        "rescaling_per_channel",
        lambda: layers.Rescaling([0.5, 1.0, 2.0], offset=[0.0, 1.0, -1.0]),
        (2, 3),
    )
    yield case(
        "normalization", lambda: layers.Normalization(mean=[1.0, 2.0], variance=[4.0, 0.25]), (3, 2)
    )
    yield case(
        "normalization_invert",
        lambda: layers.Normalization(mean=[1.0, 2.0], variance=[4.0, 0.25], invert=True),
        (3, 2),
    )
    indices = np.array([[0, 3, 1], [4, 1, 1]], "int32")
    yield case("embedding", lambda: layers.Embedding(5, 3), indices)
    yield case("embedding_1d", lambda: layers.Embedding(5, 2), indices[0])
    yield case("embedding_float_indices", lambda: layers.Embedding(5, 2), indices.astype("float32"))
    yield case("embedding_mask_zero", lambda: layers.Embedding(5, 2, mask_zero=True), indices)


def other_cases():
    for training in [None, False, True]:
        suffix = {None: "default", False: "inference", True: "training"}[training]
        yield case(
            f"dropout_rate0_{suffix}", lambda: layers.Dropout(0.0), (2, 4), training=training
        )
        if not training:
            yield case(f"dropout_{suffix}", lambda: layers.Dropout(0.5), (2, 4), training=training)
    yield case("dropout_rate1", lambda: layers.Dropout(1.0), (2, 4), training=True)
    yield case(
        "dropout_noise_shape",
        lambda: layers.Dropout(0.3, noise_shape=(None, 1), seed=7),
        (2, 4),
        training=False,
    )
    yield case("alpha_dropout", lambda: layers.AlphaDropout(0.5, seed=3), (2, 4), training=False)
    yield case(
        "alpha_dropout_noise_shape",
        lambda: layers.AlphaDropout(0.2, noise_shape=(None, 1)),
        (2, 4),
        training=False,
    )
    yield case("gaussian_noise", lambda: layers.GaussianNoise(0.5), (2, 4), training=False)
    yield case("gaussian_dropout", lambda: layers.GaussianDropout(0.5), (2, 4), training=False)
    yield case("activity_regularization", lambda: layers.ActivityRegularization(0.1, 0.2), (2, 3))
    yield case("identity", lambda: layers.Identity(), (2, 3))
    yield case("unit_normalization", lambda: layers.UnitNormalization(), (2, 3))
    yield case("masking", lambda: layers.Masking(0.0), [[[0.0, 0.0], [1.0, 0.0]], [[2.0, 3.0]] * 2])
    yield case(
        "group_normalization", lambda: layers.GroupNormalization(groups=2), (2, 3, 4)
    )
    separable = lambda: layers.SeparableConv2D(3, 3, padding="same")
    yield case("separable_conv2d", separable, (1, 4, 5, 2))
    yield case(
        "conv2d_transpose", lambda: layers.Conv2DTranspose(3, 3, 2, padding="same"), (1, 3, 4, 2)
    )
    yield case("conv2d_transpose_valid", lambda: layers.Conv2DTranspose(2, 3, 2), (1, 2, 3, 2))


def make_inputs(rng, spec):
    for item in spec["inputs"]:
        if isinstance(item, tuple):
            values = common.distinct if spec["values"] == DISTINCT else common.normal
            yield values(rng, item)
        elif isinstance(item, np.ndarray):
            yield item
        else:
            yield np.asarray(item, "float32")


def randomize(rng, layer):
    in_blocks = any(weight.name == "g_idx" for weight in layer.weights)
    for weight in layer.weights:
        if weight.dtype == "int8":
            weight.assign(rng.integers(-127, 128, weight.shape).astype("int8"))
            continue
        if weight.name.endswith("_scale"):  # of an int8 weight
            options = (0.005, 0.02, 4) if in_blocks else (50, 200)
            weight.assign(common.uniform(rng, weight.shape, *options))
            continue
        if weight.name == "g_idx":
            continue
        if weight.dtype != "float32" or "Normalization" == type(layer).__name__:
            continue
        if "variance" in weight.name or "stddev" in weight.name:
            weight.assign(common.uniform(rng, weight.shape, 0.3, 2.0))
        else:
            weight.assign(common.normal(rng, weight.shape, 0.5))


def masks_of(mask):
    """Returns one mask, or a list with None for inputs without a mask."""
    masks = mask if isinstance(mask, list) else [mask]
    return [None if each is None else common.tensor(each) for each in masks]


def run(spec):
    rng = common.start(spec["name"])
    layer = spec["layer"]()
    inputs = list(make_inputs(rng, spec))
    single = len(inputs) == 1
    names = spec["names"]
    if names is not None:
        layer.build(*[x.shape for x in inputs[: spec["built"]]])
    else:
        layer.build(inputs[0].shape if single else [x.shape for x in inputs])
    if isinstance(layer, layers.Pipeline):  # its layers are built when called
        layer(tf.constant(inputs[0]), training=False)
    randomize(rng, layer)
    before = [common.variable(weight) for weight in layer.weights]
    arguments = {} if spec["training"] is None else {"training": spec["training"]}
    mask = spec["mask"]
    if isinstance(mask, list):
        arguments["mask"] = [None if each is None else tf.constant(each) for each in mask]
    elif mask is not None:
        arguments["mask"] = tf.constant(mask)
    arguments |= spec["settings"] or {}

    def call(tensors):
        if names is None:
            return layer(tensors[0] if single else tensors, **arguments)
        named = {}
        for name, tensor in zip(names[1:], tensors[1:]):
            named.setdefault(name, []).append(tensor)
        if spec["built"] > 1 or "initial_state" not in named:
            named = {name: tensor for name, (tensor,) in named.items()}
        return layer(tensors[0], **named, **arguments)

    convolves = "Conv" in type(layer).__name__ or "STFT" in type(layer).__name__
    if convolves and layer.data_format == "channels_first":
        call = tf.function(call, jit_compile=True)  # on a CPU, TensorFlow needs XLA for these
    tensors = [tf.constant(x) for x in inputs]
    variables = [weight.value for weight in layer.trainable_weights]
    floating = [x for x in tensors if x.dtype == tf.float32]
    with tf.GradientTape() as tape:
        tape.watch(floating)
        outputs = tf.nest.flatten(call(tensors))
        losses = list(layer.losses)
    cotangents = [common.normal(rng, output.shape) for output in outputs]
    gradients = tape.gradient(
        outputs, floating + variables, output_gradients=[tf.constant(c) for c in cotangents]
    )
    input_gradients = iter(gradients[: len(floating)])
    result = {
        "name": spec["name"],
        "object": common.serialize(layer),
        "call_arguments": {"training": spec["training"]}
        | ({"names": names, "built": spec["built"]} if names else {})
        | ({"settings": spec["settings"]} if spec["settings"] else {})
        | ({} if mask is None else {"masks": masks_of(mask)}),
        "inputs": [common.tensor(x) for x in inputs],
        "weights": before,
        "outputs": [common.tensor(output) for output in outputs],
        "output_gradients": [common.tensor(c) for c in cotangents],
        "input_gradients": [
            common.tensor(next(input_gradients) if x.dtype == tf.float32 else None)
            for x in tensors
        ],
        "weight_gradients": [
            {"path": weight.path, "name": weight.name} | (common.tensor(gradient) or {})
            for weight, gradient in zip(layer.trainable_weights, gradients[len(floating) :])
        ],
        "weights_after": [common.variable(weight) for weight in layer.weights],
    }
    if any(getattr(weight, "constraint", None) for weight in layer.weights):
        result["constrained"] = [
            common.tensor(weight.constraint(weight.value) if weight.constraint else None)
            for weight in layer.weights
        ]
    if losses:
        result["losses"] = [np.float32(loss) for loss in losses]
    mask = getattr(outputs[0], "_keras_mask", None)
    if mask is not None:
        result["output_mask"] = common.tensor(mask)
    return result


def make():
    groups = [
        dense_cases,
        conv_cases,
        pooling_cases,
        reshaping_cases,
        normalization_cases,
        activation_cases,
        merging_cases,
        preprocessing_cases,
        other_cases,
        lambda: golden_recurrent.cases(case),
        lambda: golden_attention.cases(case),
        lambda: golden_core.cases(case),
        lambda: golden_lora.cases(case),
        lambda: golden_quantization.cases(case),
        lambda: golden_breadth.cases(case),
        lambda: golden_constrained.cases(case),
    ]
    return [run(spec) for group in groups for spec in group()]
