# SPDX-License-Identifier: Apache-2.0
"""Progbar: the exact text for given updates and times, and for whole fits."""

import io
import sys
import types

import common
import keras
import numpy as np
from keras.src.utils import progbar as progbar_module


class Output(io.StringIO):
    def __init__(self, terminal=False):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


class Clock:
    """Replaces the module `time` inside progbar.py."""

    def __init__(self, now=1000.0, tick=0.0):
        self.now = now
        self.tick = tick

    def time(self):
        self.now += self.tick
        return self.now


class Captured:
    """Temporarily replaces Progbar's standard output and clock."""

    def __init__(self, clock):
        self.clock = clock
        self.output = Output()

    def __enter__(self):
        self.kept = sys.stdout, progbar_module.time
        sys.stdout = self.output
        progbar_module.time = types.SimpleNamespace(time=self.clock.time)
        return self

    def __exit__(self, *_):
        sys.stdout, progbar_module.time = self.kept


def update(elapsed, current, values=None, finalize=None):
    return {"elapsed": elapsed, "current": current, "values": values, "finalize": finalize}


def run(name, arguments, updates, dynamic=True):
    """elapsed: seconds since the bar was created."""
    clock = Clock()
    with Captured(clock) as captured:
        bar = keras.utils.Progbar(**arguments)
        bar._dynamic_display = dynamic
        outputs = []
        for item in updates:
            clock.now = 1000.0 + item["elapsed"]
            before = captured.output.tell()
            bar.update(item["current"], item["values"], item["finalize"])
            outputs.append(captured.output.getvalue()[before:])
    return {
        "name": name,
        "kind": "updates",
        "arguments": arguments,
        "dynamic_display": dynamic,
        "updates": [item | {"output": text} for item, text in zip(updates, outputs)],
    }


def bar_cases():
    metrics = lambda a, b: [["accuracy", a], ["loss", b]]
    short = [
        update(0.5, 1, metrics(0.25, 2.345678)),
        update(0.75, 2, metrics(0.5, 1.5)),
        update(0.76, 3, metrics(0.5, 1.25)),
        update(1.25, 4, metrics(0.625, 0.0004321)),
        update(1.5, 5, metrics(0.75, 0.0000123), True),
    ]
    stateful = {"target": 5, "stateful_metrics": ["accuracy", "loss"]}
    for dynamic in [True, False]:
        suffix = "" if dynamic else "_lines"
        yield run(f"stateful{suffix}", stateful, short, dynamic)
        yield run(f"averaged{suffix}", {"target": 5}, short, dynamic)
    yield run("verbose2", {"verbose": 2} | stateful, short)
    yield run("verbose0", {"verbose": 0} | stateful, short)
    yield run("width10_sample", {"width": 10, "unit_name": "sample"} | stateful, short)
    unknown = [
        update(0.5, 1, [["loss", 1.0]]),
        update(1.0, 2, [["loss", 0.5]]),
        update(2.0, 3, [["loss", 0.25]], True),
    ]
    yield run("unknown_target", {"target": None, "stateful_metrics": ["loss"]}, unknown)
    long = [
        update(30.0, 1, [["loss", 12.5]]),
        update(60.0, 10, [["loss", -0.5]]),
        update(200.0, 100, [["loss", 0.001]]),
        update(4000.0, 1000, [["loss", 1234.56789]]),
        update(5000.25, 1875, [["loss", 0.0]], True),
    ]
    yield run("long", {"target": 1875, "stateful_metrics": ["loss"]}, long)
    yield run("long_verbose2", {"target": 1875, "verbose": 2, "stateful_metrics": ["loss"]}, long)
    fast = [update(i * 0.0001, i) for i in range(0, 400, 100)]
    fast += [update(0.06, 400), update(0.1, 1000)]
    yield run("fast", {"target": 1000}, fast)
    shrinking = [
        update(1.0, 1, [["loss", 123456.789]]),
        update(2.0, 2, [["loss", 1.0]]),
        update(3.0, 3, [["loss", 0.5]], True),
    ]
    yield run("shrinking", {"target": 3, "stateful_metrics": ["loss"]}, shrinking)


class Recorder(progbar_module.Progbar):
    """Records what the callbacks pass to the bar."""

    calls = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        target = kwargs.get("target", args[0] if args else None)
        self.calls.append({"new": True, "target": target, "unit_name": self.unit_name})

    def update(self, current, values=None, finalize=None):
        values = [[key, np.float32(value)] for key, value in values or []]
        self.calls.append({"current": current, "values": values, "finalize": finalize})
        super().update(current, values, finalize)


def fit_text(name, verbose, action="fit", columns=None, **arguments):
    rng = common.start(name)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, activation="softmax")])
    for weight in model.weights:
        weight.assign(common.normal(rng, weight.shape))
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"], jit_compile=False)
    x, y = common.normal(rng, (20, 3)), rng.integers(0, 2, 20)
    Recorder.calls = calls = []
    from keras.src.callbacks import progbar_logger

    kept = progbar_logger.Progbar
    progbar_logger.Progbar = Recorder
    with Captured(Clock(tick=0.0625)) as captured:
        if action == "fit":
            model.fit(x, y, batch_size=8, verbose=verbose, shuffle=False, **arguments)
        elif action == "evaluate":
            model.evaluate(x, y, batch_size=8, verbose=verbose)
        else:
            model.predict(x, batch_size=8, verbose=verbose)
    progbar_logger.Progbar = kept
    return {
        "name": name,
        "kind": "call",
        "action": action,
        "verbose": verbose,
        "arguments": {key: value for key, value in arguments.items() if key == "epochs"},
        "clock_tick": 0.0625,
        "progbar_calls": calls,
        "output": captured.output.getvalue(),
    }


def fit_cases():
    rng = np.random.default_rng(1)
    validation = (common.normal(rng, (6, 3)), rng.integers(0, 2, 6))
    for verbose in [1, 2]:
        yield fit_text(f"fit_verbose{verbose}", verbose, epochs=2)
        yield fit_text(
            f"fit_validation_verbose{verbose}", verbose, epochs=2, validation_data=validation
        )
        yield fit_text(f"evaluate_verbose{verbose}", verbose, "evaluate")
        yield fit_text(f"predict_verbose{verbose}", verbose, "predict")


def make():
    return [*bar_cases(), *fit_cases()]
