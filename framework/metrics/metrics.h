// SPDX-License-Identifier: Apache-2.0
// All metrics (keras.metrics).
#pragma once

#include "framework/metrics/accuracy.h"
#include "framework/metrics/auc.h"
#include "framework/metrics/confusion.h"
#include "framework/metrics/correlation.h"
#include "framework/metrics/f_score.h"
#include "framework/metrics/iou.h"
#include "framework/metrics/of_losses.h"
#include "framework/metrics/operating_point.h"
#include "framework/metrics/r2_score.h"
#include "framework/metrics/reduction.h"
