# SPDX-License-Identifier: Apache-2.0
"""Learning rate schedules: the learning rate at given steps."""

import common
import numpy as np
import tensorflow as tf
from keras.optimizers import schedules

STEPS = [0, 1, 2, 3, 4, 5, 7, 9, 10, 11, 14, 15, 16, 20, 21, 25, 30, 31, 50, 99, 100, 101, 1000]


def cases():
    exponential = schedules.ExponentialDecay
    yield "exponential_decay", exponential(0.1, 10, 0.9)
    yield "exponential_decay_staircase", exponential(0.1, 10, 0.5, staircase=True)
    inverse = schedules.InverseTimeDecay
    yield "inverse_time_decay", inverse(0.1, 10, 0.5)
    yield "inverse_time_decay_staircase", inverse(0.1, 10, 0.5, staircase=True)
    piecewise = schedules.PiecewiseConstantDecay
    yield "piecewise_constant_decay", piecewise([10, 20, 100], [1.0, 0.5, 0.25, 0.1])
    yield "piecewise_constant_decay_one", piecewise([4], [0.1, 0.01])
    polynomial = schedules.PolynomialDecay
    yield "polynomial_decay", polynomial(0.1, 20)
    yield "polynomial_decay_power", polynomial(0.1, 20, end_learning_rate=0.01, power=2.0)
    yield "polynomial_decay_sqrt", polynomial(0.1, 30, end_learning_rate=0.0, power=0.5)
    yield "polynomial_decay_cycle", polynomial(0.1, 10, end_learning_rate=0.01, cycle=True)
    cosine = schedules.CosineDecay
    yield "cosine_decay", cosine(0.1, 20)
    yield "cosine_decay_alpha", cosine(0.1, 30, alpha=0.1)
    yield "cosine_decay_warmup", cosine(0.01, 20, alpha=0.05, warmup_target=0.1, warmup_steps=10)
    yield "cosine_decay_warmup_zero", cosine(0.0, 100, warmup_target=0.5, warmup_steps=5)
    yield "cosine_decay_warmup_without_target", cosine(0.1, 20, warmup_steps=5)
    restarts = schedules.CosineDecayRestarts
    yield "cosine_decay_restarts", restarts(0.1, 10)
    yield "cosine_decay_restarts_same_length", restarts(0.1, 10, t_mul=1.0, m_mul=0.9, alpha=0.1)
    yield "cosine_decay_restarts_t_mul", restarts(0.1, 5, t_mul=3.0, m_mul=0.5)
    yield "exponential_decay_one_step", exponential(0.1, 1, 0.99, name="each")
    yield "inverse_time_decay_one_step", inverse(0.2, 1, 1.0, name="each")
    yield "piecewise_constant_decay_steps", piecewise([0, 1, 2], [1.0, 0.5, 0.0, 0.25], name="each")


def make():
    result = []
    for name, schedule in cases():
        rates = [np.float32(schedule(tf.constant(step, tf.int64))) for step in STEPS]
        result.append(
            {
                "name": name,
                "object": common.serialize(schedule),
                "steps": STEPS,
                "learning_rates": rates,
            }
        )
    return result
