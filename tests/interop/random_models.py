# SPDX-License-Identifier: Apache-2.0
"""Random functional models of real Keras, trained for five steps.

random_models.py FOLDER FIRST COUNT

For each seed from FIRST on: SEED.keras, a compiled model that was never trained; SEED.values.h5,
with inputs x/0, …, targets y/0, … (all steps' batches one after another), the model's predictions
for the first batch before and after training (before/0, …; after/0, …), and the losses of the
steps; SEED.trained.keras. All but every tenth are float64, so that any difference beyond rounding
shows. A model that Keras itself can't make is named on the standard output, with the reason.
"""

import os
import pathlib
import random
import sys
import warnings

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import h5py  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
from keras import layers  # noqa: E402
from random_layers import Graph  # noqa: E402

STEPS, BATCH = 5, 4
warnings.filterwarnings("ignore")  # hundreds of warnings of masks that layers drop


def rate(rng):
    """Rates that float32 represents exactly, since Cornu's are float32."""
    value = 2.0 ** rng.choice([-4, -7, -9])
    schedules = keras.optimizers.schedules
    return rng.choice([
        lambda: value, lambda: value,
        lambda: schedules.ExponentialDecay(value, 2, 0.5, staircase=True),
        lambda: schedules.PiecewiseConstantDecay([1, 3], [value, value / 2, value / 4]),
        lambda: schedules.PolynomialDecay(value, 4, end_learning_rate=value / 8, power=2.0)])()


def optimizer(rng, robust):
    """`robust`: an optimizer whose steps don't depend on the sign of a gradient that is zero except
    for rounding, such as that of a bias before a normalization."""
    kinds = {
        "SGD": [{}, {"momentum": 0.9}, {"momentum": 0.5, "nesterov": True}],
        "RMSprop": [{}, {"momentum": 0.5}, {"centered": True}],
        "Adam": [{}, {"amsgrad": True}, {"beta_1": 0.5}],
        "AdamW": [{}, {"weight_decay": 0.1}],
        "Adadelta": [{}, {"rho": 0.5}],
        "Adagrad": [{}, {"initial_accumulator_value": 0.5}],
        "Adamax": [{}, {"beta_2": 0.9}],
        "Nadam": [{}, {"beta_1": 0.5}],
        "Ftrl": [{}, {"l1_regularization_strength": 0.01, "beta": 0.1}],
    }
    if not robust:
        kinds["Lamb"] = [{}, {"beta_1": 0.5}]
        kinds["Adafactor"] = [{}, {"relative_step": False}]
        kinds["Lion"] = [{}, {"beta_1": 0.5}]
        if keras.config.floatx() == "float32":  # the only dtype that Keras's Muon supports
            kinds["Muon"] = [{}, {"nesterov": False}]
    kind = rng.choice(list(kinds))
    options = dict(rng.choice(kinds[kind]))
    options["learning_rate"] = rate(rng)
    common = [{}, {}, {}, {"clipnorm": 0.5}, {"clipvalue": 0.1}, {"global_clipnorm": 0.7},
              {"use_ema": True, "ema_momentum": 0.8, "ema_overwrite_frequency": 3},
              {"gradient_accumulation_steps": 2}]
    options |= rng.choice(common)
    if kind not in ("AdamW", "Lion", "Lamb", "Muon"):
        options |= rng.choice([{}, {}, {"weight_decay": 0.02}])
    made = getattr(keras.optimizers, kind)(**options)
    # Keras loses part of the state of optimizers that have state besides slots here.
    if rng.random() < 0.1 and kind in ("SGD", "RMSprop", "Adam", "AdamW", "Adagrad", "Lion"):
        made = keras.optimizers.LossScaleOptimizer(made, initial_scale=8.0, dynamic_growth_steps=2)
    return made


def head(rng, x, numbers, index):
    """An output, its loss, and targets for it."""
    units = rng.randint(2, 4)
    rows = STEPS * BATCH
    kind = rng.choice(["numbers", "classes", "labels", "yes_no"])
    name = f"head_{index}"
    if kind == "numbers":
        loss = rng.choice(["mse", "mae", "huber", "log_cosh", "cosine_similarity"])
        return layers.Dense(units, name=name)(x), loss, numbers.normal(size=(rows, units))
    if kind == "yes_no":
        targets = numbers.integers(0, 2, (rows, units)).astype("float64")
        loss = rng.choice(["binary_crossentropy", "binary_focal_crossentropy", "dice", "hinge"])
        return layers.Dense(units, activation="sigmoid", name=name)(x), loss, targets
    labels = numbers.integers(0, units, rows)
    logits = rng.random() < 0.5
    output = layers.Dense(units, activation=None if logits else "softmax", name=name)(x)
    if kind == "labels":
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=logits)
        return output, loss, labels.astype("int32")
    smoothing = rng.choice([0.0, 0.1])
    loss = keras.losses.CategoricalCrossentropy(from_logits=logits, label_smoothing=smoothing)
    return output, loss, np.eye(units)[labels]


def tokens(numbers, size, steps):
    """No token occurs twice in a batch: if one does, Keras on TensorFlow, unlike its other
    backends, uses the squares of the gradient's parts instead of the square of the gradient."""
    batches = [numbers.permutation(size)[:BATCH * steps] for _ in range(STEPS)]
    return np.stack(batches).reshape(STEPS * BATCH, steps).astype("int32")


def build(seed):
    """A compiled model, and values for its inputs and outputs."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    keras.config.set_floatx("float32" if seed % 10 == 9 else "float64")
    keras.utils.clear_session(free_memory=False)  # avoids garbage collection, a tenth of the time
    keras.utils.set_random_seed(seed)
    graph = Graph(rng)
    ends = graph.build()
    outputs, losses, targets = [], [], []
    for index, end in enumerate(ends):
        output, loss, target = head(rng, end, numbers, index)
        outputs.append(output)
        losses.append(loss)
        targets.append(target)
    model = keras.Model(graph.inputs, outputs if len(outputs) > 1 else outputs[0])
    weights = [rng.choice([0.5, 1.0, 2.0]) for _ in outputs]
    model.compile(optimizer(rng, graph.has_zero_gradients), losses if len(losses) > 1 else losses[0],
                  loss_weights=weights if len(losses) > 1 else None, run_eagerly=True)
    rows = STEPS * BATCH
    inputs = [tokens(numbers, size, x.shape[1]) if size else
              numbers.normal(size=(rows, *x.shape[1:])) for x, size in graph.sources]
    return model, inputs, targets


def predict(model, inputs):
    found = model([x[:BATCH] for x in inputs] if len(inputs) > 1 else inputs[0][:BATCH],
                  training=False)
    found = found if isinstance(found, (list, tuple)) else [found]
    return [keras.ops.convert_to_numpy(y) for y in found]


def one(values):
    return values if len(values) > 1 else values[0]


def make(folder, seed):
    model, inputs, targets = build(seed)
    model.save(folder / f"{seed}.keras")
    with h5py.File(folder / f"{seed}.values.h5", "w") as out:
        for name, arrays in {"x": inputs, "y": targets, "before": predict(model, inputs)}.items():
            for i, array in enumerate(arrays):
                out[f"{name}/{i}"] = array
        losses = []
        for step in range(STEPS):
            rows = slice(step * BATCH, (step + 1) * BATCH)
            model.reset_metrics()
            losses.append(float(np.ravel(model.train_on_batch(
                one([x[rows] for x in inputs]), one([y[rows] for y in targets])))[0]))
        out["losses"] = np.array(losses)
        for i, array in enumerate(predict(model, inputs)):
            out[f"after/{i}"] = array
    model.save(folder / f"{seed}.trained.keras")


def main():
    folder, first, count = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    for seed in range(first, first + count):
        try:
            make(folder, seed)
        except Exception as error:  # whatever Keras says
            print(f"{seed}: Keras can't: {str(error).strip().splitlines()[0][:200]}", flush=True)
            for path in folder.glob(f"{seed}.*"):
                path.unlink()


if __name__ == "__main__":
    main()
