// SPDX-License-Identifier: Apache-2.0
// All optimizers and schedules (keras.optimizers).
#pragma once

#include "cornu/optimizers/adadelta.h"
#include "cornu/optimizers/adagrad.h"
#include "cornu/optimizers/adam.h"
#include "cornu/optimizers/adamax.h"
#include "cornu/optimizers/adamw.h"
#include "cornu/optimizers/ftrl.h"
#include "cornu/optimizers/lamb.h"
#include "cornu/optimizers/lion.h"
#include "cornu/optimizers/nadam.h"
#include "cornu/optimizers/rmsprop.h"
#include "cornu/optimizers/schedules/cosine_decay.h"
#include "cornu/optimizers/schedules/cosine_decay_restarts.h"
#include "cornu/optimizers/schedules/exponential_decay.h"
#include "cornu/optimizers/schedules/inverse_time_decay.h"
#include "cornu/optimizers/schedules/piecewise_constant_decay.h"
#include "cornu/optimizers/schedules/polynomial_decay.h"
#include "cornu/optimizers/sgd.h"
