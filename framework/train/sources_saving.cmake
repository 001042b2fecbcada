# Models in files.
set(cornu_train_saving functional_config.cc model_config.cc model_saving.cc op_layers.cc)
