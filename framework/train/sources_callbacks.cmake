# Callbacks, the progress bar and summaries: a part of the folder's CMakeLists.txt.
set(cornu_train_callbacks
  callback.cc console.cc logs.cc progbar.cc summary.cc text_table.cc
  callbacks/csv_logger.cc callbacks/early_stopping.cc callbacks/lambda_callback.cc
  callbacks/learning_rate_scheduler.cc callbacks/model_checkpoint.cc callbacks/monitor.cc
  callbacks/progbar_logger.cc callbacks/reduce_lr_on_plateau.cc callbacks/tensor_json.cc
  callbacks/terminate_on_nan.cc callbacks/text.cc)
