# SPDX-License-Identifier: Apache-2.0
"""Callbacks: their decisions for given metrics, epoch by epoch."""

import os
import tempfile
import warnings

import common
import keras
import numpy as np

callbacks = keras.callbacks


def make_model():
    """Returns a model whose only weight is n after epoch n."""
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    model.compile(keras.optimizers.SGD(1.0), "mse")
    return model


def set_weight(model, epoch):
    model.set_weights([np.full((1, 1), epoch, "float32")])


def walk(rng, count, options):
    """A curve that falls (or rises, if higher is better), then wavers, in steps that cause ties."""
    values = 2.0 - 0.25 * np.minimum(np.arange(count), 4) + rng.integers(-2, 3, count) * 0.125
    return (3.0 - values if options.get("mode") == "max" else values).astype("float32")


def run(callback, figures, monitor):
    """Trains until the callback stops it; returns the learning rate of each epoch."""
    model = make_model()
    callback.set_model(model)
    callback.on_train_begin()
    rates = []
    for epoch, value in enumerate(figures):
        callback.on_epoch_begin(epoch)
        set_weight(model, epoch)
        rates.append(np.float32(model.optimizer.learning_rate.numpy()))
        callback.on_epoch_end(epoch, {monitor: float(value)})
        if model.stop_training:
            break
    callback.on_train_end()
    return model, rates


def early_stopping(name, **options):
    figures = walk(common.start(name), 14, options)
    monitor = options.setdefault("monitor", "val_loss")
    callback = callbacks.EarlyStopping(**options)
    model, rates = run(callback, figures, monitor)
    return {
        "name": name,
        "kind": "early_stopping",
        "options": options,
        "figures": list(figures),
        "epochs": len(rates),
        "stopped_epoch": callback.stopped_epoch,
        "best_epoch": callback.best_epoch,
        "best": callback.best,
        "weight": np.float32(model.get_weights()[0][0, 0]),
    }


def early_stopping_cases():
    yield early_stopping("early_stopping_default")
    for patience in [1, 2, 3, 5]:
        yield early_stopping(f"early_stopping_patience{patience}", patience=patience)
        yield early_stopping(
            f"early_stopping_restore{patience}", patience=patience, restore_best_weights=True
        )
    for min_delta in [0.125, -0.25, 0.3]:
        yield early_stopping(
            f"early_stopping_min_delta{min_delta}", min_delta=min_delta, patience=2
        )
    for baseline in [0.5, 1.25, 3.0]:
        yield early_stopping(
            f"early_stopping_baseline{baseline}",
            baseline=baseline,
            patience=3,
            restore_best_weights=True,
        )
    yield early_stopping("early_stopping_max", monitor="reward", mode="max", patience=2)
    yield early_stopping(
        "early_stopping_max_min_delta", monitor="reward", mode="max", min_delta=0.2, patience=2
    )
    yield early_stopping("early_stopping_late", start_from_epoch=5, restore_best_weights=True)


def reduce_lr(name, **options):
    figures = walk(common.start(name), 20, options)
    monitor = options.setdefault("monitor", "val_loss")
    _, rates = run(callbacks.ReduceLROnPlateau(**options), figures, monitor)
    return {
        "name": name,
        "kind": "reduce_lr",
        "options": options,
        "figures": list(figures),
        "learning_rates": rates,
    }


def reduce_lr_cases():
    yield reduce_lr("reduce_lr_default")
    yield reduce_lr("reduce_lr_patience1", patience=1)
    yield reduce_lr("reduce_lr_patience3", patience=3, factor=0.5)
    yield reduce_lr("reduce_lr_cooldown", patience=1, factor=0.5, cooldown=2)
    yield reduce_lr("reduce_lr_cooldown_patience2", patience=2, factor=0.5, cooldown=1)
    yield reduce_lr("reduce_lr_min_lr", patience=1, factor=0.3, min_lr=0.05)
    yield reduce_lr("reduce_lr_min_delta", patience=2, factor=0.5, min_delta=0.25)
    yield reduce_lr("reduce_lr_max", patience=2, factor=0.5, monitor="reward", mode="max")


class Saved:
    """Stands in for a model and records the paths that it is saved to."""

    metrics = ()

    def __init__(self):
        self.paths = []

    def save_weights(self, path, overwrite):
        self.paths.append(path)


def checkpoint(name, filepath, epochs=4, batches=5, **options):
    figures = walk(common.start(name), epochs * batches, options)
    callback = callbacks.ModelCheckpoint(filepath, save_weights_only=True, **options)
    saved = Saved()
    callback.set_model(saved)
    callback.on_train_begin()
    for epoch in range(epochs):
        callback.on_epoch_begin(epoch)
        for batch in range(batches):
            callback.on_train_batch_end(batch, {"loss": float(figures[epoch * batches + batch])})
        last = float(figures[epoch * batches + batches - 1])
        callback.on_epoch_end(epoch, {"loss": last, "val_loss": last * 2})
    return {
        "name": name,
        "kind": "checkpoint",
        "options": {"filepath": filepath, **options},
        "epochs": epochs,
        "batches": batches,
        "figures": list(figures),
        "saved": saved.paths,
    }


def checkpoint_cases():
    yield checkpoint("checkpoint_default", "a.weights.h5")
    yield checkpoint("checkpoint_fields", "{epoch:02d}-{loss:.2f}-{val_loss:8.3e}.weights.h5")
    yield checkpoint("checkpoint_plain_fields", "{{x}}{epoch}-{val_loss}.weights.h5")
    yield checkpoint("checkpoint_best", "{epoch}.weights.h5", epochs=9, save_best_only=True)
    yield checkpoint(
        "checkpoint_best_threshold",
        "{epoch}.weights.h5",
        epochs=9,
        save_best_only=True,
        initial_value_threshold=2.5,
    )
    yield checkpoint(
        "checkpoint_best_max", "{epoch}.weights.h5", epochs=9, save_best_only=True, mode="max"
    )
    for every in [1, 2, 3, 7]:
        yield checkpoint(
            f"checkpoint_every{every}", "{epoch}-{batch:03d}-{loss}.weights.h5", save_freq=every
        )


def csv_log(name, rows, **options):
    """Returns the text of the file after all of `rows`."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "log.csv")
        callback = callbacks.CSVLogger(path, **options)
        callback.on_train_begin()
        for epoch, row in enumerate(rows):
            callback.on_epoch_end(epoch, row)
        callback.on_train_end()
        with open(path, newline="") as file:
            text = file.read()
    rows = [[[key, value] for key, value in row.items()] for row in rows]
    return {"name": name, "kind": "csv", "options": options, "rows": rows, "text": text}


def csv_cases():
    values = [0.1, 1e-5, 1e22, 123456789.0, float(np.float32(0.1)), float("nan"), -float("inf"), 0.0]
    yield csv_log("csv_numbers", [{"loss": value, "accuracy": 1.0} for value in values])
    yield csv_log("csv_validation", [{"val_loss": 2.0, "loss": 1.0, "a": 0.5}, {"loss": 0.25}])
    yield csv_log("csv_late_validation", [{"loss": 1.0}, {"loss": 0.5, "val_loss": 2.5, "b": 1.0}])
    yield csv_log("csv_separator", [{"loss": 1.0, "a;b": 2.0, 'q"': 3.0}], separator=";")


def make():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [*early_stopping_cases(), *reduce_lr_cases(), *checkpoint_cases(), *csv_cases()]
