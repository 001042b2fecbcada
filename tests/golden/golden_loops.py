# SPDX-License-Identifier: Apache-2.0
"""Loops over functions (keras.ops.core): values, and gradients of the sum of their squares."""

import common
import tensorflow as tf
from keras import ops


def cell(w):
    def body(carry, x):
        following = ops.tanh(carry * w + x)
        return following, following * x

    return body


def scanned(x, w, init, **options):
    return list(ops.scan(cell(w), init, x, **options))


def mapped(x, w, init):
    return [ops.map(lambda row: ops.sum(row * w) * row + init, x)]


def counted(x, w, init):
    return [ops.fori_loop(1, 5, lambda i, value: ops.sin(value * w) + ops.cast(i, "float32"), init)]


def bounded(x, w, init, most):
    return list(
        ops.while_loop(
            lambda value, turns: ops.sum(value) < 6,
            lambda value, turns: (value + ops.square(w), turns + 1),
            (init, 0),
            maximum_iterations=most,
        )
    )


def associative(x, w, init, reverse):
    return [ops.associative_scan(lambda a, b: a + b + a * b * w, x, reverse=reverse)]


def loops():
    for length in (1, 2, 7):
        for reverse in (False, True):
            name = f"scan_{length}{'_reverse' if reverse else ''}"
            yield name, length, lambda *t, reverse=reverse: scanned(*t, reverse=reverse)
    yield "scan_unroll", 7, lambda *t: scanned(*t, unroll=3)
    yield "scan_length", 3, lambda *t: scanned(*t, length=3)
    yield "map", 5, mapped
    yield "fori_loop", 2, counted
    yield "while_loop_to_the_end", 2, lambda *t: bounded(*t, most=50)
    yield "while_loop_to_the_bound", 2, lambda *t: bounded(*t, most=2)
    for reverse in (False, True):
        name = f"associative_scan{'_reverse' if reverse else ''}"
        yield name, 5, lambda *t, reverse=reverse: associative(*t, reverse=reverse)


def run(name, length, function):
    rng = common.start(name)
    inputs = [tf.constant(common.normal(rng, shape)) for shape in ((length, 3), (3,), (3,))]
    with tf.GradientTape() as tape:
        for tensor in inputs:
            tape.watch(tensor)
        outputs = function(*inputs)
        total = sum(tf.reduce_sum(tf.square(y)) for y in outputs if y.dtype.is_floating)
    return {
        "name": name,
        "inputs": [common.tensor(tensor) for tensor in inputs],
        "outputs": [common.tensor(y) for y in outputs],
        "gradients": [common.tensor(gradient) for gradient in tape.gradient(total, inputs)],
    }


def make():
    return [run(*loop) for loop in loops()]
