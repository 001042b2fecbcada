# SPDX-License-Identifier: Apache-2.0
"""Optimizers: the variables after each of 20 applications of given gradients."""

import common
import keras
import numpy as np
import tensorflow as tf
from keras import optimizers
from keras.optimizers import schedules

STEPS = 20


def cases():
    """Pairs of a name and a function that makes the optimizer."""
    yield from sgd_cases()
    yield from adam_cases()
    yield from rmsprop_cases()
    yield from schedule_cases()
    yield from other_cases()


def sgd_cases():
    sgd = optimizers.SGD
    yield "sgd", lambda: sgd()
    yield "sgd_momentum", lambda: sgd(0.1, momentum=0.9)
    yield "sgd_nesterov", lambda: sgd(0.1, momentum=0.9, nesterov=True)
    yield "sgd_weight_decay", lambda: sgd(0.1, weight_decay=0.05)
    yield "sgd_clipnorm", lambda: sgd(0.1, clipnorm=1.0)
    yield "sgd_clipvalue", lambda: sgd(0.1, clipvalue=0.5)
    yield "sgd_global_clipnorm", lambda: sgd(0.1, momentum=0.5, global_clipnorm=2.0)
    yield "sgd_ema", lambda: sgd(0.1, use_ema=True, ema_momentum=0.8)
    yield "sgd_ema_overwrite", lambda: sgd(
        0.1, use_ema=True, ema_momentum=0.9, ema_overwrite_frequency=5
    )
    yield "sgd_loss_scale_factor", lambda: sgd(0.1, loss_scale_factor=8.0)
    yield "sgd_accumulation2", lambda: sgd(0.1, momentum=0.9, gradient_accumulation_steps=2)


def adam_cases():
    adam, adamw = optimizers.Adam, optimizers.AdamW
    yield "adam", lambda: adam()
    yield "adam_large_rate", lambda: adam(0.1)
    yield "adam_amsgrad", lambda: adam(0.05, amsgrad=True)
    yield "adam_epsilon", lambda: adam(0.05, beta_1=0.8, beta_2=0.99, epsilon=0.1)
    yield "adam_weight_decay", lambda: adam(0.05, weight_decay=0.1)
    yield "adam_clipnorm", lambda: adam(0.05, clipnorm=0.5)
    yield "adam_ema", lambda: adam(0.05, use_ema=True, ema_momentum=0.9)
    yield "adam_accumulation2", lambda: adam(0.05, gradient_accumulation_steps=2)
    yield "adam_accumulation3_ema", lambda: adam(
        0.05, gradient_accumulation_steps=3, use_ema=True, ema_momentum=0.7
    )
    yield "adam_accumulation3_weight_decay_clipnorm", lambda: adam(
        0.05, gradient_accumulation_steps=3, weight_decay=0.1, clipnorm=1.0
    )
    yield "adam_loss_scale_factor", lambda: adam(0.05, loss_scale_factor=128.0)
    yield "adamw", lambda: adamw()
    yield "adamw_large_decay", lambda: adamw(0.05, weight_decay=0.2)
    yield "adamw_amsgrad", lambda: adamw(0.05, weight_decay=0.1, amsgrad=True)
    yield "adamw_exclude", lambda: excluding(adamw(0.05, weight_decay=0.5), "vector")


def excluding(optimizer, name):
    optimizer.exclude_from_weight_decay(var_names=[name])
    return optimizer


def rmsprop_cases():
    rmsprop = optimizers.RMSprop
    yield "rmsprop", lambda: rmsprop()
    yield "rmsprop_momentum", lambda: rmsprop(0.01, momentum=0.9)
    yield "rmsprop_centered", lambda: rmsprop(0.01, centered=True)
    yield "rmsprop_centered_momentum", lambda: rmsprop(0.01, rho=0.8, momentum=0.5, centered=True)
    yield "rmsprop_epsilon", lambda: rmsprop(0.01, epsilon=0.01, weight_decay=0.01)


def schedule_cases():
    sgd, adam = optimizers.SGD, optimizers.Adam
    exponential = lambda: schedules.ExponentialDecay(0.2, 5, 0.5)
    yield "sgd_exponential_decay", lambda: sgd(exponential())
    yield "adam_exponential_decay_staircase", lambda: adam(
        schedules.ExponentialDecay(0.1, 5, 0.5, staircase=True)
    )
    yield "adam_cosine_decay_warmup", lambda: adam(
        schedules.CosineDecay(0.0, 10, alpha=0.1, warmup_target=0.1, warmup_steps=4)
    )
    yield "sgd_piecewise_constant_decay", lambda: sgd(
        schedules.PiecewiseConstantDecay([4, 9], [0.2, 0.1, 0.02])
    )
    yield "sgd_polynomial_decay", lambda: sgd(
        schedules.PolynomialDecay(0.2, 15, end_learning_rate=0.01, power=2.0)
    )
    yield "sgd_inverse_time_decay", lambda: sgd(schedules.InverseTimeDecay(0.2, 5, 0.5))
    yield "rmsprop_cosine_decay_restarts", lambda: optimizers.RMSprop(
        schedules.CosineDecayRestarts(0.05, 4, t_mul=2.0, m_mul=0.8)
    )
    yield "adamw_exponential_decay", lambda: optimizers.AdamW(exponential(), weight_decay=0.2)
    yield "sgd_exponential_decay_accumulation2", lambda: sgd(
        exponential(), gradient_accumulation_steps=2
    )


def other_cases():
    yield "adagrad", lambda: optimizers.Adagrad(0.1)
    yield "adadelta", lambda: optimizers.Adadelta(1.0)
    yield "adamax", lambda: optimizers.Adamax(0.05)
    yield "nadam", lambda: optimizers.Nadam(0.05)
    yield "ftrl", lambda: optimizers.Ftrl(
        0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.1
    )
    yield "lion", lambda: optimizers.Lion(0.01)
    yield "lamb", lambda: optimizers.Lamb(0.05)
    yield "adafactor", lambda: optimizers.Adafactor(0.05)
    yield "loss_scale", lambda: optimizers.LossScaleOptimizer(
        optimizers.Adam(0.05), initial_scale=64.0, dynamic_growth_steps=3
    )


def make_gradients(rng, name):
    gradients = []
    for step in range(STEPS):
        matrix, vector = common.normal(rng, (2, 3)), common.normal(rng, (3,))
        if name == "loss_scale" and step in (4, 5, 12):
            vector[1] = np.inf if step != 5 else np.nan
        gradients.append([matrix, vector])
    return gradients


def run(name, make_optimizer):
    rng = common.start(name)
    optimizer = make_optimizer()
    variables = [
        keras.Variable(common.normal(rng, (2, 3)), name="matrix"),
        keras.Variable(common.normal(rng, (3,)), name="vector"),
    ]
    initial = [common.variable(v) for v in variables]
    optimizer.build(variables)
    gradients = make_gradients(rng, name)
    rates, trajectory = [], []
    for step in gradients:
        rates.append(np.float32(optimizer.learning_rate))
        optimizer.apply([tf.constant(g) for g in step], variables)
        trajectory.append([common.tensor(v) for v in variables])
    result = {
        "name": name,
        "object": common.serialize(optimizer),
        "variables": initial,
        "gradients": [[common.tensor(g) for g in step] for step in gradients],
        "learning_rates": rates,
        "trajectory": trajectory,
        "iterations": int(optimizer.iterations),
        "optimizer_variables": [common.variable(v) for v in optimizer.variables],
    }
    if name == "adamw_exclude":
        result["exclude_from_weight_decay"] = {"var_names": ["vector"]}
    if getattr(optimizer, "use_ema", False):
        optimizer.finalize_variable_values(variables)
        result["finalized"] = [common.tensor(v) for v in variables]
    return result


def make():
    return [run(name, make_optimizer) for name, make_optimizer in cases()]
