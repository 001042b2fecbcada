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


def iou_cases(rng):
    def classes(shape, count=3, dtype="int32"):
        return rng.integers(0, count, shape).astype(dtype)

    maps = [
        (classes((2, 3, 4)), classes((2, 3, 4))),
        (classes((6,), dtype="float32"), classes((6,), dtype="uint8"), classes((6,), 4)),
        (classes((2, 3)), classes((2, 3)), np.float32([[0.5, 1.9, 2.0], [0.0, 1.0, 3.5]])),
    ]
    outside = [(np.int32([0, 1, 5, 2, -1, 1, 2]), np.int32([0, 2, 1, 7, 0, 1, -3]))]
    numbers = [(np.float32([0.9, 1.5, -0.5, 3]), np.float32([0, 1, 2.99, 2]))]
    empty = [(np.zeros((0,), "int32"), np.zeros((0,), "int32"))]
    absent = [(np.int32([0, 0]), np.int32([0, 1]))]
    for name, updates in {
        "maps": maps,
        "outside": outside,
        "numbers": numbers,
        "empty": empty,
        "absent": absent,
    }.items():
        yield case(f"mean_iou_{name}", lambda: metrics.MeanIoU(num_classes=3), updates)
    yield case("mean_iou_one_class", lambda: metrics.MeanIoU(num_classes=1), outside)
    yield case("iou_ignored", lambda: metrics.IoU(3, [1, 2, 1], ignore_class=0), maps)
    yield case("iou_void", lambda: metrics.MeanIoU(3, ignore_class=255), outside)
    yield case("iou_float", lambda: metrics.IoU(3, (0, 1), name="f", dtype="float32"), maps)
    yield case("mean_iou_int32", lambda: metrics.MeanIoU(3, dtype="int32"), maps)
    scores = [
        (common.probabilities(rng, (2, 3, 4)), common.normal(rng, (2, 3, 4))),
        (common.probabilities(rng, (5, 4)), common.normal(rng, (5, 4)), classes((5,), 3)),
    ]
    dense = {"sparse_y_true": False, "sparse_y_pred": False}
    yield case("iou_dense", lambda: metrics.IoU(4, [0, 3], **dense), scores)
    yield case("one_hot_iou", lambda: metrics.OneHotIoU(4, [0, 3]), scores)
    yield case("one_hot_mean_iou", lambda: metrics.OneHotMeanIoU(4), scores)
    mixed = [(x[0], x[1].argmax(-1).astype("int32")) + x[2:] for x in scores]
    every = {"ignore_class": 1, "sparse_y_pred": True, "dtype": "float32"}
    yield case("one_hot_iou_sparse", lambda: metrics.OneHotIoU(4, [2], name="h", **every), mixed)
    yield case("one_hot_mean_iou_sparse", lambda: metrics.OneHotMeanIoU(4, **every), mixed)
    yield case("mean_iou_dense", lambda: metrics.MeanIoU(4, ignore_class=2, **dense), scores)
    binary = [
        (classes((3, 2), 2), common.uniform(rng, (3, 2))),
        (classes((4,), 2), np.float32([0.5, 0.3, 0.29, 0.7]), classes((4,), 3)),
    ]
    yield case("binary_iou", metrics.BinaryIoU, binary)
    options = {"target_class_ids": [1], "threshold": 0.3, "name": "b", "dtype": "float32"}
    yield case("binary_iou_options", lambda: metrics.BinaryIoU(**options), binary)


def f_score_cases(rng):
    eye = np.eye(3, dtype="float32")
    weights = common.uniform(rng, (4,), 0.2, 2.0)
    updates = [
        (eye[rng.integers(0, 3, 5)], common.probabilities(rng, (5, 3))),
        (rng.integers(0, 2, (4, 3)), common.normal(rng, (4, 3)), weights),
        (eye[[0, 1]], np.float32([[0, 0, 0], [0.4, 0.4, 0.2]])),
    ]
    for average in [None, "micro", "macro", "weighted"]:
        yield case(
            f"f1_score_{average}_default", lambda a=average: metrics.F1Score(average=a), updates
        )
        yield case(
            f"fbeta_score_{average}_options",
            lambda a=average: metrics.FBetaScore(average=a, beta=0.5, threshold=0.3, name="f"),
            updates,
        )
    one = [(np.float32([[1], [0], [1]]), np.float32([[0.9], [0.6], [0.2]]))]
    yield case("f1_score_one_class", lambda: metrics.F1Score(threshold=0.5), one)
    yield case("fbeta_score_default", metrics.FBetaScore, updates)


def r2_score_cases(rng):
    updates = [
        (common.normal(rng, (5, 2)), common.normal(rng, (5, 2), 0.5)),
        (common.normal(rng, (4, 2)), common.normal(rng, (4, 2)), common.uniform(rng, (4,))),
        (common.normal(rng, (3, 2)), common.normal(rng, (3, 2)), common.uniform(rng, (3, 2))),
    ]
    for aggregation in [None, "uniform_average", "variance_weighted_average"]:
        for regressors in [0, 3, 9, 40]:
            yield case(
                f"r2_score_{aggregation}_{regressors}",
                lambda a=aggregation, r=regressors: metrics.R2Score(a, num_regressors=r, name="r"),
                updates,
            )
    column = [(common.normal(rng, (4, 1)), common.normal(rng, (4,)))]
    yield case("r2_score_column", metrics.R2Score, column)
    same = np.float32([[1, 2], [1, 3]])
    yield case("r2_score_constant", lambda: metrics.R2Score(None), [(same, same + 0.5)])
    yield case("r2_score_exact", lambda: metrics.R2Score(None), [(same, same)])


def correlation_cases(rng):
    updates = [
        (common.normal(rng, (3, 6)), common.normal(rng, (3, 6))),
        (common.normal(rng, (4, 5)), common.normal(rng, (4, 5)), common.uniform(rng, (4,))),
        (common.normal(rng, (2, 3, 4)), common.normal(rng, (2, 3, 4))),
    ]
    for cls in [metrics.PearsonCorrelation, metrics.ConcordanceCorrelation]:
        name = cls().name
        yield case(name, cls, updates)
        yield case(f"{name}_axis", lambda cls=cls: cls(name="c", axis=0), updates[:1])
        yield case(f"{name}_middle", lambda cls=cls: cls(axis=1), updates[2:])
        column = [(common.normal(rng, (5, 1)), common.normal(rng, (5,)))]
        yield case(f"{name}_column", lambda cls=cls: cls(axis=0), column)
        constant = [(np.float32([[1, 1, 1]]), np.float32([[0.5, 1, 2]]))]
        yield case(f"{name}_constant", cls, constant)
        labels = [(rng.integers(0, 4, (2, 5)).astype("int32"), common.normal(rng, (2, 5)))]
        yield case(f"{name}_integers", cls, labels)


def operating_point_cases(rng):
    updates = auc_updates(rng)
    edge = [(np.float32([1, 0, 1, 0]), np.float32([0, 0, 1, 1]))]
    columns = [(rng.integers(0, 2, (6, 3)).astype("float32"), common.uniform(rng, (6, 3)))]
    columns += [(*columns[0], common.uniform(rng, (6,), 0.2, 2.0))]
    for cls in [
        metrics.SensitivityAtSpecificity,
        metrics.SpecificityAtSensitivity,
        metrics.PrecisionAtRecall,
        metrics.RecallAtPrecision,
    ]:
        name = cls(0.5).name
        for bound in [0, 0.35, 0.8, 1]:
            yield case(f"{name}_{bound}", lambda cls=cls, b=bound: cls(b), updates + edge)
        yield case(
            f"{name}_options",
            lambda cls=cls: cls(0.6, num_thresholds=11, class_id=1, name="p"),
            columns,
        )
        for count in [1, 2, 3]:
            yield case(
                f"{name}_of_{count}",
                lambda cls=cls, n=count: cls(0.4, num_thresholds=n),
                updates + edge,
            )
        empty = [(np.zeros((0,), "float32"), np.zeros((0,), "float32"))]
        yield case(f"{name}_empty", lambda cls=cls: cls(0.5), empty)


def reduction_dtype_cases(rng):
    values = [
        (common.normal(rng, (3, 2)), common.uniform(rng, (3,), 0.2, 2.0)),
        (common.normal(rng, (4, 2)),),
        (np.float32(0.3),),
    ]
    integers = [
        (rng.integers(-9, 9, (4,)).astype("int32"),),
        (common.normal(rng, (5,), 3.0), rng.integers(0, 3, (5,)).astype("int32")),
    ]
    for cls in [metrics.Mean, metrics.Sum]:
        name = cls().name
        for dtype in ["float16", "float64", "mixed_float16"]:
            yield case(f"{name}_{dtype}", lambda cls=cls, d=dtype: cls(dtype=d), values)
        for dtype in ["int32", "int64"]:
            yield case(f"{name}_{dtype}", lambda cls=cls, d=dtype: cls(dtype=d), integers)


def dtype_cases(rng):
    def doubles(shape):
        return rng.standard_normal(shape).round(9)

    eye = np.eye(4)
    labels = rng.integers(0, 4, (6,))
    probabilities = rng.dirichlet(np.ones(4), 6)
    weights = rng.uniform(0.2, 2.0, 6).round(9)
    sparse = [(labels.astype("int32"), probabilities, weights)]
    dense = [(eye[labels], probabilities), (eye[labels], probabilities[::-1].copy(), weights)]
    binary = [(rng.integers(0, 2, (6,)).astype("float32"), common.uniform(rng, (6,)))]
    columns = [(eye[labels].astype("float32"), common.probabilities(rng, (6, 4)))]
    pairs = [(doubles((6, 3)), doubles((6, 3))), (doubles((6, 3)), doubles((6, 3)), weights)]
    shifted = [tuple(x + 40.0 if x.ndim == 2 else x for x in pair) for pair in pairs]
    of_classes = {
        metrics.BinaryAccuracy: binary,
        metrics.CategoricalAccuracy: dense,
        metrics.SparseCategoricalAccuracy: sparse,
        metrics.CategoricalCrossentropy: dense,
        metrics.SparseCategoricalCrossentropy: sparse,
        metrics.MeanSquaredError: pairs,
        metrics.RootMeanSquaredError: shifted,
        metrics.CosineSimilarity: pairs,
        metrics.PearsonCorrelation: pairs,
        metrics.Precision: binary,
        metrics.TruePositives: binary,
        metrics.F1Score: dense,
    }
    for cls, updates in of_classes.items():
        for dtype in ["float16", "float64"]:
            yield case(f"{cls().name}_{dtype}", lambda cls=cls, d=dtype: cls(dtype=d), updates)
    yield case("r2_score_float64", lambda: metrics.R2Score(dtype="float64"), pairs)
    for average in ["micro", "macro", "weighted"]:
        yield case(
            f"fbeta_score_{average}_float16",
            lambda a=average: metrics.FBetaScore(average=a, beta=2.0, dtype="float16"),
            dense,
        )
    every = {"k": 2, "name": "t", "dtype": "float64"}
    single = [tuple(x.astype("float32") for x in update) for update in dense + sparse]
    yield case("top_k_float64", lambda: metrics.TopKCategoricalAccuracy(**every), single[:2])
    yield case(
        "sparse_top_k_float64", lambda: metrics.SparseTopKCategoricalAccuracy(**every), single[2:]
    )
    yield case(
        "recall_at_precision_float64",
        lambda: metrics.RecallAtPrecision(0.4, dtype="float64"),
        binary,
    )
    by_label = {"label_weights": [0.25, 0.75, 1.0, 2.0], "num_thresholds": 20}
    for dtype in ["float16", "float64"]:
        yield case(f"auc_labels_{dtype}", lambda d=dtype: metrics.AUC(dtype=d, **by_label), columns)
    yield case(
        "auc_multi_label_float16",
        lambda: metrics.AUC(dtype="float16", multi_label=True, num_labels=4, **by_label),
        columns,
    )


def breadth_cases(rng):
    """Cases for metrics with few others: with every argument, and with a single number."""
    pairs = [
        (common.uniform(rng, (4, 3), 0.1, 2.0), common.uniform(rng, (4, 3), 0.1, 2.0)),
        (common.uniform(rng, (3, 3), 0.1, 2.0), common.uniform(rng, (3, 3), 0.1, 2.0),
         np.float32([0.5, 0.0, 2.0])),
    ]
    doubles = [tuple(x.astype("float64") for x in pair) for pair in pairs]
    one = [(np.float32([[1.5]]), np.float32([[0.25]])), (np.float32([[2]]), np.float32([[4]]))]
    for cls in [
        metrics.MeanAbsoluteError,
        metrics.MeanAbsolutePercentageError,
        metrics.MeanSquaredLogarithmicError,
        metrics.LogCoshError,
        metrics.Hinge,
        metrics.SquaredHinge,
        metrics.CategoricalHinge,
        metrics.KLDivergence,
        metrics.Poisson,
    ]:
        name = cls().name
        # Keras's logarithm of 2 is in float32.
        dtype, updates = ("float32", pairs) if name == "logcosh" else ("float64", doubles)
        yield case(f"{name}_options", lambda cls=cls, d=dtype: cls(name="m", dtype=d), updates)
        yield case(f"{name}_of_one", cls, one)
    labels = [(np.int32([1, 2, 0]), np.int32([1, 0, 0]), np.float32([0.5, 0.0, 2.0]))]
    yield case("accuracy_options", lambda: metrics.Accuracy(name="a", dtype="float64"), labels)
    extreme = [(np.float32([[1, 0], [0, 1]]), np.float32([[1, 0], [1, 0]]))]
    yield case("binary_crossentropy_extreme", metrics.BinaryCrossentropy, extreme)
    yield case("binary_iou_one_class", lambda: metrics.BinaryIoU(target_class_ids=[0]),
               [(np.int32([0, 0, 1]), np.float32([0.2, 0.5, 0.6]))])
    pair = [(np.float32([[0, 1]]), np.float32([[0.75, 0.25]]))]
    yield case("one_hot_iou_of_one", lambda: metrics.OneHotIoU(2, [1, 0]), pair)
    yield case("one_hot_mean_iou_of_one", lambda: metrics.OneHotMeanIoU(2), pair)


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
    groups = [
        reduction_cases,
        accuracy_cases,
        auc_cases,
        loss_cases,
        confusion_cases,
        iou_cases,
        f_score_cases,
        r2_score_cases,
        correlation_cases,
        operating_point_cases,
        reduction_dtype_cases,
        dtype_cases,
        breadth_cases,
    ]
    return [
        run(spec)
        for group in groups
        for spec in group(np.random.default_rng(len(group.__name__)))
    ]
