# SPDX-License-Identifier: Apache-2.0
"""Losses: values for each reduction and sample weight, gradients with respect to the predictions.
"""

import common
import numpy as np
import tensorflow as tf
from keras import losses

REDUCTIONS = ["sum_over_batch_size", "sum", "none", "mean", "mean_with_sample_weight"]


def case(name, cls, y_true, y_pred, weights=None, mask=None, **options):
    return {
        "name": name,
        "class": cls,
        "options": options,
        "y_true": y_true,
        "y_pred": np.asarray(y_pred, "float32"),
        "weights": weights,
        "mask": mask,
    }


def binary_cases(rng):
    cls = losses.BinaryCrossentropy
    labels = rng.integers(0, 2, (4, 3)).astype("float32")
    predictions = common.uniform(rng, (4, 3), 0.05, 0.95)
    logits = common.normal(rng, (4, 3), 2.0)
    yield case("binary_crossentropy", cls, labels, predictions)
    yield case("binary_crossentropy_logits", cls, labels, logits, from_logits=True)
    yield case("binary_crossentropy_smoothing", cls, labels, predictions, label_smoothing=0.1)
    yield case(
        "binary_crossentropy_logits_smoothing",
        cls,
        labels,
        logits,
        from_logits=True,
        label_smoothing=0.2,
    )
    yield case("binary_crossentropy_int_labels", cls, labels.astype("int32"), predictions)
    yield case("binary_crossentropy_rank1_labels", cls, labels[:, 0], predictions[:, :1])
    yield case("binary_crossentropy_rank1", cls, labels[:, 0], predictions[:, 0])
    extreme = [[0.0, 1.0], [1.0, 0.0], [1e-8, 1.0 - 1e-7], [0.5, 1e-7]]
    targets = np.array([[0, 1], [0, 1], [1, 0], [1, 1]], "float32")
    yield case("binary_crossentropy_extreme", cls, targets, extreme)
    large = [[100.0, -100.0], [-100.0, 100.0], [40.0, -40.0], [0.0, 1e4]]
    yield case("binary_crossentropy_large_logits", cls, targets, large, from_logits=True)
    focal = losses.BinaryFocalCrossentropy
    yield case("binary_focal_crossentropy", focal, labels, predictions)
    yield case(
        "binary_focal_crossentropy_balanced",
        focal,
        labels,
        logits,
        from_logits=True,
        apply_class_balancing=True,
        alpha=0.3,
        gamma=1.5,
    )


def categorical_cases(rng):
    cls = losses.CategoricalCrossentropy
    labels = np.eye(4, dtype="float32")[[1, 3, 0, 1, 2]]
    soft = common.probabilities(rng, (5, 4))
    predictions = common.probabilities(rng, (5, 4))
    logits = common.normal(rng, (5, 4), 2.0)
    yield case("categorical_crossentropy", cls, labels, predictions)
    yield case("categorical_crossentropy_logits", cls, labels, logits, from_logits=True)
    yield case("categorical_crossentropy_soft_labels", cls, soft, predictions)
    yield case("categorical_crossentropy_soft_labels_logits", cls, soft, logits, from_logits=True)
    yield case("categorical_crossentropy_smoothing", cls, labels, predictions, label_smoothing=0.1)
    yield case(
        "categorical_crossentropy_logits_smoothing",
        cls,
        labels,
        logits,
        from_logits=True,
        label_smoothing=0.1,
    )
    yield case("categorical_crossentropy_not_normalized", cls, labels, predictions * 2)
    image = common.probabilities(rng, (2, 2, 3, 4))
    targets = np.eye(4, dtype="float32")[rng.integers(0, 4, (2, 2, 3))]
    yield case("categorical_crossentropy_4d", cls, targets, image)
    moved = [np.moveaxis(x, -1, 1) for x in (targets, image)]
    yield case("categorical_crossentropy_axis1", cls, *moved, axis=1)
    extreme = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]
    yield case("categorical_crossentropy_extreme", cls, np.eye(3, dtype="float32"), extreme)
    large = [[100.0, -100.0, 0.0], [1e4, -1e4, 0.0], [-50.0, -50.0, 50.0]]
    one_hot = np.eye(3, dtype="float32")
    yield case("categorical_crossentropy_large_logits", cls, one_hot, large, from_logits=True)
    focal = losses.CategoricalFocalCrossentropy
    yield case("categorical_focal_crossentropy", focal, labels, predictions)
    generalized = losses.CategoricalGeneralizedCrossEntropy
    yield case(
        "categorical_generalized_cross_entropy", generalized, labels.argmax(-1), predictions
    )


def sparse_cases(rng):
    cls = losses.SparseCategoricalCrossentropy
    labels = np.array([1, 3, 0, 1, 2], "int32")
    predictions = common.probabilities(rng, (5, 4))
    logits = common.normal(rng, (5, 4), 2.0)
    name = "sparse_categorical_crossentropy"
    yield case(name, cls, labels, predictions)
    yield case(f"{name}_logits", cls, labels, logits, from_logits=True)
    yield case(f"{name}_column_labels", cls, labels[:, None], predictions)
    yield case(f"{name}_float_labels", cls, labels.astype("float32"), predictions)
    yield case(f"{name}_uint8_labels", cls, labels.astype("uint8"), logits, from_logits=True)
    yield case(f"{name}_not_normalized", cls, labels, predictions * 3)
    image_labels = rng.integers(0, 3, (2, 2, 3)).astype("int32")
    image = common.normal(rng, (2, 2, 3, 3))
    yield case(f"{name}_4d", cls, image_labels, image, from_logits=True)
    ignored = np.array([1, -1, 0, -1, 2], "int32")
    yield case(f"{name}_ignore_class", cls, ignored, predictions, ignore_class=-1)
    yield case(
        f"{name}_logits_ignore_class", cls, labels, logits, from_logits=True, ignore_class=1
    )
    all_ignored = np.full(3, -1, "int32")
    yield case(f"{name}_all_ignored", cls, all_ignored, predictions[:3], ignore_class=-1)
    extreme = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]
    yield case(f"{name}_extreme", cls, np.arange(3, dtype="int32"), extreme)
    large = [[100.0, -100.0, 0.0], [1e4, -1e4, 0.0], [-50.0, -50.0, 50.0]]
    yield case(
        f"{name}_large_logits", cls, np.arange(3, dtype="int32"), large, from_logits=True
    )


def regression_cases(rng):
    y_true = common.normal(rng, (4, 3))
    y_pred = common.normal(rng, (4, 3))
    for cls in [losses.MeanSquaredError, losses.MeanAbsoluteError, losses.LogCosh]:
        yield case(cls().name, cls, y_true, y_pred)
    mse = losses.MeanSquaredError
    yield case("mean_squared_error_3d", mse, common.normal(rng, (2, 2, 3)), common.normal(
        rng, (2, 2, 3)
    ))
    yield case("mean_squared_error_rank1", mse, y_true[:, 0], y_pred[:, 0])
    yield case("mean_squared_error_rank1_labels", mse, y_true[:, 0], y_pred[:, :1])
    yield case("mean_squared_error_int_labels", mse, np.array([[1, 2], [3, 4]]), y_pred[:2, :2])
    yield case("mean_squared_error_one_sample", mse, y_true[:1], y_pred[:1])
    mask = np.array([True, False, True, True])
    yield case("mean_squared_error_mask", mse, y_true, y_pred, mask=mask)
    yield case("mean_squared_error_mask_all_out", mse, y_true, y_pred, mask=mask & False)
    yield case("log_cosh_large", losses.LogCosh, y_true, y_pred * 100)
    huber = losses.Huber
    yield case("huber", huber, y_true, y_pred * 2)
    yield case("huber_delta", huber, y_true, y_pred * 2, delta=0.5)
    percentage = losses.MeanAbsolutePercentageError
    yield case("mean_absolute_percentage_error", percentage, y_true, y_pred)
    zero = y_true * np.array([[1, 0, 1]], "float32")
    yield case("mean_absolute_percentage_error_zero", percentage, zero, y_pred)
    logarithmic = losses.MeanSquaredLogarithmicError
    positive = common.uniform(rng, (4, 3), 0.0, 3.0)
    yield case("mean_squared_logarithmic_error", logarithmic, positive, positive[::-1] + 0.25)
    yield case("mean_squared_logarithmic_error_negative", logarithmic, y_true, y_pred)
    cosine = losses.CosineSimilarity
    yield case("cosine_similarity", cosine, y_true, y_pred)
    yield case("cosine_similarity_axis0", cosine, y_true, y_pred, weights=[None], axis=0)
    yield case("cosine_similarity_zero", cosine, y_true, y_pred * [[1], [0], [1], [0]])


def other_cases(rng):
    signs = np.where(rng.integers(0, 2, (4, 3)) > 0, 1.0, -1.0).astype("float32")
    binary = (signs + 1) / 2
    scores = common.normal(rng, (4, 3))
    for cls in [losses.Hinge, losses.SquaredHinge]:
        yield case(cls().name, cls, signs, scores)
        yield case(f"{cls().name}_01_labels", cls, binary, scores)
    one_hot = np.eye(3, dtype="float32")[[2, 0, 1, 1]]
    yield case("categorical_hinge", losses.CategoricalHinge, one_hot, scores)
    p, q = common.probabilities(rng, (4, 3)), common.probabilities(rng, (4, 3))
    yield case("kl_divergence", losses.KLDivergence, p, q)
    yield case("kl_divergence_extreme", losses.KLDivergence, one_hot, one_hot[::-1])
    counts = rng.poisson(2.0, (4, 3)).astype("float32")
    rates = common.uniform(rng, (4, 3), 0.1, 4.0)
    yield case("poisson", losses.Poisson, counts, rates)
    yield case("poisson_zero_rate", losses.Poisson, counts, rates * binary)
    predictions = common.uniform(rng, (4, 3), 0.05, 0.95)
    yield case("dice", losses.Dice, binary, predictions, weights=[None])
    yield case("tversky", losses.Tversky, binary, predictions, weights=[None], alpha=0.3, beta=0.7)


def ctc_cases(rng):
    cls = losses.CTC
    labels = np.array([[1, 2, 2, 3], [3, 1, 0, 0], [2, 2, 2, 0], [1, 0, 0, 0]], "int32")
    logits = common.normal(rng, (4, 9, 5))
    yield case("ctc", cls, labels, logits)
    yield case("ctc_int64", cls, labels.astype("int64"), logits)
    yield case("ctc_float_labels", cls, labels.astype("float32"), logits)
    empty = labels * np.array([[1], [0], [1], [0]], "int32")
    yield case("ctc_empty", cls, empty, logits)
    yield case("ctc_no_labels", cls, labels * 0, logits)
    yield case("ctc_tight", cls, labels, logits[:, :5])
    yield case("ctc_too_few_steps", cls, labels, logits[:, :3])
    yield case("ctc_one_step", cls, labels[3:, :1], logits[3:, :1])
    yield case("ctc_large_logits", cls, labels, logits * 100)
    yield case("ctc_long", cls, rng.integers(1, 6, (2, 12)), common.normal(rng, (2, 60, 7), 2.0))


def circle_cases(rng):
    cls = losses.Circle
    embeddings = rng.standard_normal((8, 4))
    embeddings = (embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)).round(3)
    labels = np.array([0, 1, 2, 0, 1, 1, 2, 0], "int32")
    yield case("circle", cls, labels, embeddings)
    yield case("circle_column", cls, labels[:, None], embeddings)
    yield case("circle_options", cls, labels, embeddings, gamma=8.0, margin=0.25)
    yield case("circle_diagonal", cls, labels, embeddings, gamma=2.0, remove_diagonal=False)
    # Classes with a single embedding, and a single class.
    alone = np.array([0, 1, 2, 0, 3, 4, 5, 6], "int32")
    yield case("circle_alone", cls, alone, embeddings, gamma=4.0)
    yield case("circle_one_class", cls, labels * 0, embeddings, gamma=4.0)
    yield case("circle_of_two", cls, labels[:2] * 0, embeddings[:2])


def dtype_cases(rng):
    labels = rng.integers(0, 2, (4, 3)).astype("float32")
    numbers = common.normal(rng, (4, 3))
    classes = np.array([1, 2, 0, 1], "int32")
    wide = {"dtype": "float64"}
    logits = wide | {"from_logits": True}
    yield case("mean_squared_error_float64", losses.MeanSquaredError, labels, numbers, **wide)
    yield case("huber_float64", losses.Huber, labels, numbers, delta=0.5, **wide)
    yield case("dice_float64", losses.Dice, labels, common.uniform(rng, (4, 3)), **wide)
    yield case("binary_crossentropy_float64", losses.BinaryCrossentropy, labels, numbers, **logits)
    sparse = losses.SparseCategoricalCrossentropy
    yield case("sparse_categorical_crossentropy_float64", sparse, classes, numbers, **logits)
    yield case("log_cosh_float16", losses.LogCosh, labels, numbers, dtype="float16")


def focal_cases(rng):
    labels = rng.integers(0, 2, (4, 3)).astype("float32")
    extreme = np.float32([[0, 1, 0.5], [1, 0, 1e-7], [0.25, 0.75, 1], [1, 1, 0]])
    yield case("binary_focal_crossentropy_extreme", losses.BinaryFocalCrossentropy, labels, extreme,
               apply_class_balancing=True, gamma=1.0, label_smoothing=0.1)
    focal = losses.CategoricalFocalCrossentropy
    image = np.moveaxis(np.eye(3, dtype="float32")[rng.integers(0, 3, (2, 2, 4))], -1, 1)
    every = {"alpha": 0.6, "gamma": 1.5, "from_logits": True, "label_smoothing": 0.1, "axis": 1}
    yield case("categorical_focal_crossentropy_options", focal, image,
               common.normal(rng, image.shape, 2.0), **every)
    one_hot = np.eye(3, dtype="float32")
    yield case("categorical_focal_crossentropy_alphas", focal, np.moveaxis(image, 1, -1),
               common.normal(rng, (2, 2, 4, 3), 2.0), alpha=[0.1, 0.25, 0.9], from_logits=True)
    yield case("categorical_focal_crossentropy_extreme", focal, one_hot[[0, 1, 2]],
               np.float32([[1, 0, 0], [1, 0, 0], [0, 0.5, 0.5]]))
    generalized = losses.CategoricalGeneralizedCrossEntropy
    classes = np.array([2, 0, 1, 1], "int32")
    predictions = common.probabilities(rng, (4, 3))
    yield case("categorical_generalized_cross_entropy_q", generalized, classes, predictions, q=0.9)
    yield case("categorical_generalized_cross_entropy_one", generalized, classes[:1],
               np.float32([[0.1, 0.2, 0.7]]), q=0.99)


def breadth_cases(rng):
    """Cases for losses with few others: more axes, other options, and edge cases."""
    shape = (2, 3, 4)
    numbers, others = common.normal(rng, shape), common.normal(rng, shape)
    positive, rates = np.abs(others) + 0.25, np.abs(numbers) + 0.5
    signs = np.where(numbers > 0, 1.0, -1.0).astype("float32")
    one_hot = np.eye(4, dtype="float32")[rng.integers(0, 4, shape[:-1])]
    distributions = [common.probabilities(rng, shape) for _ in range(2)]
    table = {
        losses.MeanAbsoluteError: (others, numbers),
        losses.MeanAbsolutePercentageError: (others, numbers),
        losses.MeanSquaredLogarithmicError: (positive, rates),
        losses.Hinge: (signs, others * 3),
        losses.SquaredHinge: (signs, others * 3),
        losses.CategoricalHinge: (one_hot, others),
        losses.KLDivergence: tuple(distributions),
        losses.Poisson: (np.round(positive), rates),
    }
    for cls, (y_true, y_pred) in table.items():
        yield case(f"{cls().name}_sequences", cls, y_true, y_pred)
        yield case(f"{cls().name}_of_one", cls, y_true[:1, 0, :1], y_pred[:1, 0, :1] + 0.125,
                   dtype="float64")
    labels = np.where(signs > 0, 1.0, 0.0).astype("float32")
    predictions = common.uniform(rng, shape, 0.05, 0.95)
    for cls, options in {losses.Dice: {}, losses.Tversky: {"alpha": 0.9, "beta": 0.2}}.items():
        name = cls().name
        yield case(f"{name}_axes", cls, labels, predictions, axis=(1, 2), **options)
        yield case(f"{name}_nothing", cls, labels * 0, predictions * 0, weights=[None])
    yield case("tversky_default", losses.Tversky, labels, predictions, weights=[None])


def value_and_gradient(spec, reduction, weight):
    loss = spec["class"](reduction=reduction, **spec["options"])
    y_pred = tf.constant(spec["y_pred"])
    if spec["mask"] is not None:
        y_pred._keras_mask = tf.constant(spec["mask"])
    with tf.GradientTape() as tape:
        tape.watch(y_pred)
        value = loss(spec["y_true"], y_pred, weight)
    return value, tape.gradient(value, y_pred)


def sample_weights(rng, spec):
    """Returns None, and one weight per sample (shaped like the loss or with one more axis), some
    zero."""
    shape = value_and_gradient(spec, "none", None)[0].shape
    samples = spec["y_pred"].shape[0]
    if len(shape) > 1:
        return [
            None,
            common.uniform(rng, shape[:1] + [1] * (len(shape) - 1), 0.2, 2.0),
            common.uniform(rng, shape, 0.2, 2.0),
        ]
    weights = [None, common.uniform(rng, (samples,), 0.2, 2.0)]
    if samples > 2:
        weights.append(np.array([0.5] + [0.0] * (samples - 2) + [3.0], "float32"))
        weights.append(np.zeros(samples, "float32"))
    return weights


def run(spec):
    rng = common.start(spec["name"])
    weights = spec["weights"] or sample_weights(rng, spec)
    results = []
    for weight in weights:
        values = {}
        for reduction in REDUCTIONS:
            value, gradient = value_and_gradient(spec, reduction, weight)
            values[reduction] = common.tensor(value)
            if reduction == "sum_over_batch_size":
                kept = gradient
        results.append(
            {
                "sample_weight": common.tensor(weight),
                "values": values,
                "gradient": common.tensor(kept),
            }
        )
    result = {
        "name": spec["name"],
        "object": common.serialize(spec["class"](**spec["options"])),
        "arguments": spec["options"],  # Huber's and CosineSimilarity's configs lack them
        "y_true": common.tensor(spec["y_true"]),
        "y_pred": common.tensor(spec["y_pred"]),
        "results": results,
    }
    if spec["mask"] is not None:
        result["mask"] = common.tensor(spec["mask"])
    return result


def make():
    groups = [
        binary_cases,
        categorical_cases,
        sparse_cases,
        regression_cases,
        other_cases,
        ctc_cases,
        circle_cases,
        dtype_cases,
        focal_cases,
        breadth_cases,
    ]
    return [
        run(spec)
        for group in groups
        for spec in group(np.random.default_rng(len(group.__name__)))
    ]
