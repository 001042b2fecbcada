// SPDX-License-Identifier: Apache-2.0
// All metrics (keras.metrics).
#pragma once

#include "cornu/train/metrics/accuracy.h"
#include "cornu/train/metrics/auc.h"
#include "cornu/train/metrics/confusion.h"
#include "cornu/train/metrics/of_losses.h"
#include "cornu/train/metrics/reduction.h"
