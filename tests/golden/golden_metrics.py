# SPDX-License-Identifier: Apache-2.0
"""Metrics: the result after each of several updates."""

import common
import numpy as np
from keras import metrics


def case(name, make, updates):
    """updates: (y_true, y_pred[, sample_weight]); Mean and Sum take (values[, sample_weight])."""
    return {"name": name, "make": make, "updates": updates}


def reduction_cases(rng):
    vectors = [(common.normal(rng, (4,)),) for _ in range(2)]
    weighted = [(common.normal(rng, (3,)), common.uniform(rng, (3,), 0.0, 2.0)) for _ in range(2)]
    matrix = [(common.normal(rng, (2, 3)), common.uniform(rng, (2,), 0.5, 2.0))]
    scalars = [(np.float32(1.5),), (np.float32(-0.25),), (np.float32(3), np.float32(0.5))]
    for cls in [metrics.Mean, metrics.Sum]:
        name = cls().name
        yield case(name, cls, vectors)
        yield case(f"{name}_weighted", cls, weighted + vectors)
        yield case(f"{name}_matrix", cls, [(common.normal(rng, (2, 3)),)] + matrix)
        yield case(f"{name}_scalars", cls, scalars)
    yield case("mean_zero_weights", metrics.Mean, [(np.float32([1, 2]), np.float32([0, 0]))])
    yield case("mean_named", lambda: metrics.Mean(name="loss"), scalars)


def accuracy_cases(rng):
    def integers(shape, count=3):
        return rng.integers(0, count, shape).astype("int32")

    labels = [(integers((5,)), integers((5,))) for _ in range(2)]
    weighted = [(integers((4,)), integers((4,)), common.uniform(rng, (4,), 0.2, 2.0))]
    yield case("accuracy", metrics.Accuracy, labels + weighted)
    yield case("accuracy_matrix", metrics.Accuracy, [(integers((3, 2)), integers((3, 2)))])
    binary = [
        (integers((4, 3), 2).astype("float32"), common.uniform(rng, (4, 3))),
        (integers((2, 3), 2), common.uniform(rng, (2, 3)), np.float32([0.5, 2.0])),
        (np.float32([[1, 0]]), np.float32([[0.5, 0.5]])),
    ]
    yield case("binary_accuracy", metrics.BinaryAccuracy, binary)
    yield case("binary_accuracy_threshold", lambda: metrics.BinaryAccuracy(threshold=0.7), binary)
    column = [(integers((4,), 2), common.uniform(rng, (4, 1)))]
    yield case("binary_accuracy_column", metrics.BinaryAccuracy, column)
    eye = np.eye(4, dtype="float32")
    one_hot = [
        (eye[integers((5,), 4)], common.probabilities(rng, (5, 4))),
        (eye[integers((3,), 4)], common.normal(rng, (3, 4)), np.float32([0.5, 2.0, 0.25])),
        (eye[integers((2, 3), 4)], common.normal(rng, (2, 3, 4))),
    ]
    yield case("categorical_accuracy", metrics.CategoricalAccuracy, one_hot)
    tie = [(eye[[1, 0]], np.float32([[0.4, 0.4, 0.1, 0.1], [0.4, 0.4, 0.1, 0.1]]))]
    yield case("categorical_accuracy_tie", metrics.CategoricalAccuracy, tie)
    sparse = [
        (integers((5,), 4), common.probabilities(rng, (5, 4))),
        (integers((5, 1), 4), common.normal(rng, (5, 4)), common.uniform(rng, (5,), 0.2, 2.0)),
        (integers((2, 3), 4).astype("uint8"), common.normal(rng, (2, 3, 4))),
        (integers((3,), 4).astype("float32"), common.normal(rng, (3, 4))),
    ]
    yield case("sparse_categorical_accuracy", metrics.SparseCategoricalAccuracy, sparse)
    wide = np.eye(6, dtype="float32")
    top = [
        (wide[integers((6,), 6)], common.normal(rng, (6, 6))),
        (wide[integers((4,), 6)], common.normal(rng, (4, 6)), common.uniform(rng, (4,), 0.2, 2.0)),
    ]
    sparse_top = [(x[0].argmax(-1).astype("int32"),) + x[1:] for x in top]
    for k in [5, 2]:
        yield case(
            f"top_k_categorical_accuracy_{k}", lambda k=k: metrics.TopKCategoricalAccuracy(k=k), top
        )
        yield case(
            f"sparse_top_k_categorical_accuracy_{k}",
            lambda k=k: metrics.SparseTopKCategoricalAccuracy(k=k),
            sparse_top,
        )
    ties = [(np.int32([0, 1, 2, 3]), np.float32([[0.3, 0.3, 0.3, 0.1]] * 4))]
    yield case(
        "sparse_top_k_categorical_accuracy_ties",
        lambda: metrics.SparseTopKCategoricalAccuracy(k=2),
        ties,
    )


def auc_updates(rng, logits=False):
    updates = []
    for count in [12, 7]:
        y_true = rng.integers(0, 2, (count,)).astype("float32")
        y_pred = common.normal(rng, (count,), 2.0) if logits else common.uniform(rng, (count,))
        updates.append((y_true, y_pred))
    weights = common.uniform(rng, (7,), 0.2, 2.0)
    updates.append((*updates[1], weights))
    return updates


def auc_cases(rng):
    updates = auc_updates(rng)
    for curve in ["ROC", "PR"]:
        for method in ["interpolation", "minoring", "majoring"]:
            yield case(
                f"auc_{curve.lower()}_{method}",
                lambda curve=curve, method=method: metrics.AUC(
                    num_thresholds=50, curve=curve, summation_method=method
                ),
                updates,
            )
    yield case("auc_default", metrics.AUC, updates)
    yield case(
        "auc_from_logits",
        lambda: metrics.AUC(num_thresholds=50, from_logits=True),
        auc_updates(rng, logits=True),
    )
    yield case("auc_thresholds", lambda: metrics.AUC(thresholds=[0.2, 0.5, 0.8]), updates)
    perfect = [(np.float32([0, 0, 1, 1]), np.float32([0, 0.3, 0.9, 1.0]))]
    yield case("auc_perfect", lambda: metrics.AUC(num_thresholds=50), perfect)
    yield case("auc_one_class", metrics.AUC, [(np.float32([1, 1]), np.float32([0.3, 0.9]))])
    columns = [
        (rng.integers(0, 2, (6, 1)).astype("float32"), common.uniform(rng, (6, 1))),
        (rng.integers(0, 2, (5, 2)).astype("float32"), common.uniform(rng, (5, 2))),
    ]
    yield case("auc_columns", lambda: metrics.AUC(num_thresholds=50), columns)
    labels = [(rng.integers(0, 2, (8, 3)).astype("float32"), common.uniform(rng, (8, 3)))] * 2
    yield case("auc_multi_label", lambda: metrics.AUC(50, multi_label=True, num_labels=3), labels)


def loss_cases(rng):
    binary = [
        (rng.integers(0, 2, (4, 2)).astype("float32"), common.uniform(rng, (4, 2), 0.0, 1.0)),
        (np.float32([[1], [0]]), np.float32([[1.0], [1.0]]), np.float32([0.5, 2.0])),
    ]
    yield case("binary_crossentropy", metrics.BinaryCrossentropy, binary)
    logits = [(x[0], common.normal(rng, x[0].shape)) + x[2:] for x in binary]
    yield case(
        "binary_crossentropy_logits",
        lambda: metrics.BinaryCrossentropy(from_logits=True, label_smoothing=0.1),
        logits,
    )
    eye = np.eye(3, dtype="float32")
    labels = [rng.integers(0, 3, (4,)).astype("int32") for _ in range(2)]
    weights = common.uniform(rng, (4,), 0.2, 2.0)
    probabilities = [common.probabilities(rng, (4, 3)) for _ in range(2)]
    scores = [common.normal(rng, (4, 3)) for _ in range(2)]
    for name, cls, targets in [
        ("categorical_crossentropy", metrics.CategoricalCrossentropy, [eye[x] for x in labels]),
        ("sparse_categorical_crossentropy", metrics.SparseCategoricalCrossentropy, labels),
    ]:
        yield case(
            name,
            cls,
            [(targets[0], probabilities[0]), (targets[1], probabilities[1], weights)],
        )
        yield case(
            f"{name}_logits",
            lambda cls=cls: cls(from_logits=True),
            [(targets[0], scores[0]), (targets[1], scores[1], weights)],
        )
    pairs = [
        (common.normal(rng, (4, 2)), common.normal(rng, (4, 2))),
        (common.normal(rng, (3, 2)), common.normal(rng, (3, 2)), np.float32([0.5, 0.0, 2.0])),
        (common.normal(rng, (3, 2, 2)), common.normal(rng, (3, 2, 2))),
    ]
    for cls in [
        metrics.MeanSquaredError,
        metrics.RootMeanSquaredError,
        metrics.MeanAbsoluteError,
        metrics.MeanAbsolutePercentageError,
        metrics.MeanSquaredLogarithmicError,
        metrics.LogCoshError,
        metrics.CosineSimilarity,
        metrics.Hinge,
        metrics.SquaredHinge,
        metrics.CategoricalHinge,
        metrics.KLDivergence,
        metrics.Poisson,
    ]:
        values = pairs
        if cls in (metrics.KLDivergence, metrics.Poisson):
            values = [(np.abs(x[0]), np.abs(x[1]) + 0.1) + x[2:] for x in pairs]
        yield case(cls().name, cls, values)
    yield case("r2_score", metrics.R2Score, pairs[:2])


def confusion_cases(rng):
    updates = auc_updates(rng)
    edge = [(np.float32([1, 0, 1, 0]), np.float32([0.5, 0.5, 0.51, 0.49]))]
    for cls in [
        metrics.TruePositives,
        metrics.TrueNegatives,
        metrics.FalsePositives,
        metrics.FalseNegatives,
        metrics.Precision,
        metrics.Recall,
    ]:
        name = cls().name
        yield case(name, cls, updates + edge)
        yield case(
            f"{name}_thresholds", lambda cls=cls: cls(thresholds=[0.25, 0.5, 0.75]), updates + edge
        )
        yield case(f"{name}_threshold", lambda cls=cls: cls(thresholds=0.3), updates)
    eye = np.eye(4, dtype="float32")
    classes = [
        (eye[rng.integers(0, 4, 6)], common.probabilities(rng, (6, 4))),
        (eye[rng.integers(0, 4, 3)], common.probabilities(rng, (3, 4)), np.float32([1, 2, 0.5])),
    ]
    for cls in [metrics.Precision, metrics.Recall]:
        name = cls().name
        yield case(f"{name}_top_k", lambda cls=cls: cls(top_k=2), classes)
        yield case(f"{name}_class_id", lambda cls=cls: cls(class_id=1, thresholds=0.3), classes)
        yield case(f"{name}_top_k_class_id", lambda cls=cls: cls(top_k=2, class_id=2), classes)
        yield case(f"{name}_nothing", cls, [(np.float32([0, 0]), np.float32([0.1, 0.2]))])
    yield case("f1_score", lambda: metrics.F1Score(threshold=0.4), classes)
    yield case("f1_score_macro", lambda: metrics.F1Score(average="macro"), classes)
    yield case("fbeta_score", lambda: metrics.FBetaScore(average="micro", beta=2.0), classes)
    curve = auc_updates(rng)
    for cls in [
        metrics.SensitivityAtSpecificity,
        metrics.SpecificityAtSensitivity,
        metrics.PrecisionAtRecall,
        metrics.RecallAtPrecision,
    ]:
        yield case(cls(0.5).name, lambda cls=cls: cls(0.5, num_thresholds=50), curve)
    maps = [(rng.integers(0, 3, (6,)), rng.integers(0, 3, (6,))) for _ in range(2)]
    maps = [tuple(x.astype("int32") for x in pair) for pair in maps]
    yield case("iou", lambda: metrics.IoU(num_classes=3, target_class_ids=[0, 2]), maps)
    yield case("mean_iou", lambda: metrics.MeanIoU(num_classes=3), maps)


def run(spec):
    common.start(spec["name"])
    metric = spec["make"]()
    reduction = type(metric) in (metrics.Mean, metrics.Sum)
    names = ["values", "sample_weight"] if reduction else ["y_true", "y_pred", "sample_weight"]
    updates = []
    for arguments in spec["updates"]:
        metric.update_state(*arguments)
        arguments = arguments + (None,) * (len(names) - len(arguments))
        update = {name: common.tensor(value) for name, value in zip(names, arguments)}
        updates.append(update | {"result": common.tensor(metric.result())})
    result = {
        "name": spec["name"],
        "object": common.serialize(metric),
        "updates": updates,
        "variables": [common.variable(v) for v in metric.variables],
    }
    metric.reset_state()
    result["result_after_reset"] = common.tensor(metric.result())
    return result


def make():
    groups = [reduction_cases, accuracy_cases, auc_cases, loss_cases, confusion_cases]
    return [
        run(spec)
        for group in groups
        for spec in group(np.random.default_rng(len(group.__name__)))
    ]
