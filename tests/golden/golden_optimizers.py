# SPDX-License-Identifier: Apache-2.0
"""Optimizers: the variables after each of 20 updates with given gradients."""

import common
import keras
import numpy as np
import tensorflow as tf
from keras import optimizers
from keras.optimizers import schedules

STEPS = 20


def cases():
    """Yields pairs of a name and a function that makes the optimizer."""
    yield from sgd_cases()
    yield from adam_cases()
    yield from rmsprop_cases()
    yield from schedule_cases()
    yield from other_cases()
    yield from adafactor_cases()
    yield from muon_cases()
    yield from schedule_free_cases()
    yield from wrapper_cases()
    yield from clip_cases()


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
    shared = {"weight_decay": 0.05, "clipnorm": 1.0, "use_ema": True, "ema_momentum": 0.8}
    others = {
        optimizers.Adagrad: {"initial_accumulator_value": 0.5, "epsilon": 0.01},
        optimizers.Adadelta: {"rho": 0.8, "epsilon": 0.01},
        optimizers.Adamax: {"beta_1": 0.8, "beta_2": 0.9, "epsilon": 0.01},
        optimizers.Nadam: {"beta_1": 0.8, "beta_2": 0.9, "epsilon": 0.01},
        optimizers.Ftrl: {"learning_rate_power": -0.7, "initial_accumulator_value": 0.3, "beta": 0.2,
                          "l1_regularization_strength": 0.02, "l2_regularization_strength": 0.05,
                          "l2_shrinkage_regularization_strength": 0.1},
        optimizers.Lion: {"beta_1": 0.8, "beta_2": 0.9},
        optimizers.Lamb: {"beta_1": 0.8, "beta_2": 0.9, "epsilon": 0.01},
    }
    for kind, options in others.items():
        name = kind.__name__.lower()
        yield f"{name}_default", lambda: kind()
        yield f"{name}_options", lambda: kind(0.05, **options, **shared, name="other")
        yield f"{name}_accumulation2", lambda: kind(
            schedules.ExponentialDecay(0.1, 5, 0.5), gradient_accumulation_steps=2
        )
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


def adafactor_cases():
    adafactor = optimizers.Adafactor
    yield "adafactor_default", lambda: adafactor()
    yield "adafactor_options", lambda: adafactor(
        0.5,
        beta_2_decay=-0.5,
        epsilon_1=1e-3,
        epsilon_2=0.1,
        clip_threshold=0.5,
        relative_step=False,
        weight_decay=0.05,
        clipnorm=1.0,
        name="factors",
    )
    yield "adafactor_schedule", lambda: adafactor(schedules.ExponentialDecay(0.2, 5, 0.5))
    yield "adafactor_ema", lambda: adafactor(0.2, use_ema=True, ema_momentum=0.8)
    yield "adafactor_accumulation2", lambda: adafactor(0.2, gradient_accumulation_steps=2)
    yield "adafactor_shapes", lambda: adafactor(0.1)


def muon_cases():
    muon = optimizers.Muon
    yield "muon", lambda: muon()
    yield "muon_large_rate", lambda: muon(0.05)
    yield "muon_options", lambda: muon(
        0.05,
        adam_beta_1=0.8,
        adam_beta_2=0.9,
        adam_weight_decay=0.2,
        epsilon=0.01,
        weight_decay=0.1,
        global_clipnorm=1.0,
        name="m",
        muon_a=3.0,
        muon_b=-4.0,
        muon_c=1.5,
        adam_lr_ratio=0.1,
        momentum=0.7,
        ns_steps=2,
        nesterov=False,
        rms_rate=None,
    )
    yield "muon_no_decay", lambda: muon(0.05, adam_weight_decay=None, weight_decay=None)
    yield "muon_excluded", lambda: muon(0.05, exclude_layers=["^nothing", "matri."])
    yield "muon_shapes", lambda: muon(0.05)
    yield "muon_embeddings_shapes", lambda: muon(0.05, exclude_embeddings=False)
    yield "muon_ema", lambda: muon(0.05, use_ema=True, ema_overwrite_frequency=4, clipvalue=0.5)
    yield "muon_accumulation3", lambda: muon(0.05, gradient_accumulation_steps=3)
    yield "muon_schedule", lambda: muon(schedules.ExponentialDecay(0.2, 5, 0.5))


def schedule_free_cases():
    adamw = optimizers.ScheduleFreeAdamW
    yield "schedule_free_adamw", lambda: adamw()
    yield "schedule_free_adamw_warmup", lambda: adamw(0.1, warmup_steps=7)
    yield "schedule_free_adamw_options", lambda: adamw(
        0.1, beta_1=0.6, beta_2=0.9, epsilon=0.01, weight_decay=0.1, clipnorm=1.0, name="s"
    )
    yield "schedule_free_adamw_ema", lambda: adamw(0.1, use_ema=True, ema_momentum=0.7)
    yield "schedule_free_adamw_accumulation2", lambda: adamw(0.1, gradient_accumulation_steps=2)
    yield "schedule_free_adamw_schedule", lambda: adamw(schedules.ExponentialDecay(0.2, 5, 0.5))
    yield "schedule_free_adamw_loss_scale_factor", lambda: adamw(0.1, loss_scale_factor=16.0)


def wrapper_cases():
    scaled, multi, chosen = (
        optimizers.LossScaleOptimizer,
        optimizers.MultiOptimizer,
        optimizers.OptimizerMap,
    )
    sgd, adam = optimizers.SGD, optimizers.Adam
    yield "loss_scale_default", lambda: scaled(sgd(0.1, loss_scale_factor=4.0))
    yield "loss_scale_every_step", lambda: scaled(
        sgd(0.1, momentum=0.9, clipnorm=1.0, weight_decay=0.1),
        initial_scale=2.0,
        dynamic_growth_steps=1,
        name="l",
    )
    yield "loss_scale_schedule", lambda: scaled(sgd(schedules.ExponentialDecay(0.2, 5, 0.5)), 0.5)
    yield "loss_scale_ema", lambda: scaled(adam(0.05, use_ema=True, ema_momentum=0.8), 8.0, 5)
    yield "loss_scale_accumulation2", lambda: scaled(
        sgd(0.1, gradient_accumulation_steps=2), 8.0, 5
    )
    yield "multi", lambda: multi(chosen(sgd(0.1, momentum=0.9), {"matrix": adam(0.05)}))
    yield "multi_patterns_shapes", lambda: multi(
        chosen(sgd(0.1), {".*ding.*": adam(0.05), "cube": optimizers.Lion(0.01), "x": sgd()}),
        name="several",
    )
    yield "multi_loss_scale_factor", lambda: multi(
        chosen(sgd(0.1, loss_scale_factor=2.0), {"v.*": sgd(0.2)}), loss_scale_factor=8.0
    )
    yield "multi_default", lambda: multi(chosen(adam(0.05, clipnorm=1.0, weight_decay=0.1)))
    yield "multi_ema", lambda: multi(
        chosen(sgd(0.1, use_ema=True), {"vector": adam(0.1, use_ema=True, ema_momentum=0.5)})
    )


def clip_cases():
    """Adam and AdamW with each kind of gradient clipping, and with moving averages of the weights.
    """
    options = {
        "clipnorm": {"clipnorm": 0.7},
        "clipvalue": {"clipvalue": 0.4},
        "global_clipnorm": {"global_clipnorm": 0.9},
        "ema": {"use_ema": True, "ema_momentum": 0.8},
        "ema_overwrite": {"use_ema": True, "ema_overwrite_frequency": 5, "clipvalue": 0.4},
        "accumulation2_global_clipnorm": {"gradient_accumulation_steps": 2, "global_clipnorm": 0.9},
    }
    for kind in (optimizers.Adam, optimizers.AdamW):
        for name, arguments in options.items():
            yield f"{kind.__name__.lower()}_cut_{name}", lambda: kind(
                0.05, weight_decay=0.1, **arguments
            )


def shapes_of(name):
    """Returns the variables of a case."""
    if name.endswith("_shapes"):
        return {"tall": (4, 2), "embeddings": (3, 3), "cube": (2, 3, 2), "scalar": ()}
    return {"matrix": (2, 3), "vector": (3,)}


def make_gradients(rng, name):
    gradients = []
    for step in range(STEPS):
        gradients.append([common.normal(rng, shape) for shape in shapes_of(name).values()])
        if name.startswith("loss_scale") and step in (4, 5, 12):
            gradients[-1][1][1] = np.inf if step != 5 else np.nan
    return gradients


def rate_of(optimizer):
    if isinstance(optimizer, optimizers.MultiOptimizer):
        return None
    return np.float32(optimizer.learning_rate)


def uses_averages(optimizer):
    inner = getattr(optimizer, "optimizers", [getattr(optimizer, "inner_optimizer", optimizer)])
    return any(x.use_ema for x in inner)


def run(name, make_optimizer):
    rng = common.start(name)
    optimizer = make_optimizer()
    variables = [
        keras.Variable(common.normal(rng, shape), name=key)
        for key, shape in shapes_of(name).items()
    ]
    initial = [common.variable(v) for v in variables]
    optimizer.build(variables)
    gradients = make_gradients(rng, name)
    rates, trajectory = [], []
    for step in gradients:
        rates.append(rate_of(optimizer))
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
    if uses_averages(optimizer):
        optimizer.finalize_variable_values(variables)
        result["finalized"] = [common.tensor(v) for v in variables]
    return result


def make():
    return [run(name, make_optimizer) for name, make_optimizer in cases()]
