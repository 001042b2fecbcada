# SPDX-License-Identifier: Apache-2.0
"""The metrics that a Distiller reports, and the student it trains."""

import common
import keras
from keras import distillation


def model(name, activation, outputs):
    x = keras.Input((3,))
    hidden = keras.layers.Dense(4, activation=activation, name=f"{name}_hidden")(x)
    logits = [keras.layers.Dense(3, name=f"{name}_{i}")(hidden) for i in range(outputs)]
    return keras.Model(x, logits[0] if outputs == 1 else dict(zip("pq", logits)), name=name)


def report(name, losses, outputs=1, weights=None, student_loss_weight=0.5, labels=True):
    rng = common.start(name)
    teacher, student = model("teacher", "tanh", outputs), model("student", "relu", outputs)
    for each in (teacher, student):
        each.set_weights([common.normal(rng, value.shape) for value in each.get_weights()])
    x = common.normal(rng, (10, 3))
    y = [rng.integers(0, 3, (10,)).astype("int32") for _ in range(outputs)]
    start = {key: [common.tensor(value) for value in each.get_weights()]
             for key, each in (("teacher", teacher), ("student", student))}
    distiller = distillation.Distiller(
        teacher, student, losses, weights, student_loss_weight=student_loss_weight
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    distiller.compile(
        optimizer=keras.optimizers.SGD(0.1),
        loss=loss if outputs == 1 else {"p": loss, "q": loss},
        metrics=["accuracy"] if outputs == 1 else None,
    )
    target = y[0] if outputs == 1 else dict(zip("pq", y))
    history = distiller.fit(x, target, batch_size=4, epochs=3, shuffle=False, verbose=0)
    evaluated = distiller.evaluate(x, target, batch_size=4, verbose=0, return_dict=True)
    return {
        "name": name,
        "x": common.tensor(x),
        "y": [common.tensor(value) for value in y],
        **start,
        "history": {key: list(map(float, value)) for key, value in history.history.items()},
        "evaluated": {key: float(value) for key, value in evaluated.items()},
        "trained": [common.tensor(value) for value in student.get_weights()],
    }


def make():
    logits, features = distillation.LogitsDistillation, distillation.FeatureDistillation
    divergence = keras.losses.KLDivergence
    return [
        report("logits", logits(temperature=4.0, loss=divergence())),
        report("logits_mse", logits(loss="mse"), student_loss_weight=0.2),
        report("distillation_alone", logits(loss=divergence()), student_loss_weight=0.0),
        report("student_alone", logits(loss=divergence()), student_loss_weight=1.0),
        report(
            "features",
            [
                logits(temperature=2.0, loss=divergence()),
                features("cosine_similarity", "teacher_hidden", "student_hidden"),
                features("mae"),
            ],
            weights=[0.5, 2.0, 0.1],
        ),
        # Keras 3.15 has no student loss for several outputs.
        report(
            "several_outputs",
            logits(loss={"p": divergence(), "q": None}),
            outputs=2,
            student_loss_weight=0.0,
        ),
    ]
