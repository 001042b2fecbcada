// SPDX-License-Identifier: Apache-2.0
// All callbacks (keras.callbacks). Options are in Keras's argument order, with Keras's defaults.
#pragma once

#include "cornu/train/callbacks/csv_logger.h"
#include "cornu/train/callbacks/early_stopping.h"
#include "cornu/train/callbacks/lambda_callback.h"
#include "cornu/train/callbacks/learning_rate_scheduler.h"
#include "cornu/train/callbacks/model_checkpoint.h"
#include "cornu/train/callbacks/progbar_logger.h"
#include "cornu/train/callbacks/reduce_lr_on_plateau.h"
#include "cornu/train/callbacks/terminate_on_nan.h"
