// SPDX-License-Identifier: Apache-2.0
// All optimizers and schedules (keras.optimizers).
#pragma once

#include "optimizers/adadelta.h"
#include "optimizers/adagrad.h"
#include "optimizers/adam.h"
#include "optimizers/adamax.h"
#include "optimizers/adamw.h"
#include "optimizers/ftrl.h"
#include "optimizers/lamb.h"
#include "optimizers/lion.h"
#include "optimizers/nadam.h"
#include "optimizers/rmsprop.h"
#include "optimizers/schedules/cosine_decay.h"
#include "optimizers/schedules/cosine_decay_restarts.h"
#include "optimizers/schedules/exponential_decay.h"
#include "optimizers/schedules/inverse_time_decay.h"
#include "optimizers/schedules/piecewise_constant_decay.h"
#include "optimizers/schedules/polynomial_decay.h"
#include "optimizers/sgd.h"
