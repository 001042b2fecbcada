// SPDX-License-Identifier: Apache-2.0
// All callbacks (keras.callbacks). Options are in Keras's argument order, with Keras's defaults.
#pragma once

#include "framework/callbacks/backup_and_restore.h"
#include "framework/callbacks/csv_logger.h"
#include "framework/callbacks/early_stopping.h"
#include "framework/callbacks/lambda_callback.h"
#include "framework/callbacks/learning_rate_scheduler.h"
#include "framework/callbacks/model_checkpoint.h"
#include "framework/callbacks/progbar_logger.h"
#include "framework/callbacks/reduce_lr_on_plateau.h"
#include "framework/callbacks/remote_monitor.h"
#include "framework/callbacks/summary_writer.h"
#include "framework/callbacks/swap_ema_weights.h"
#include "framework/callbacks/tensor_board.h"
#include "framework/callbacks/terminate_on_nan.h"
