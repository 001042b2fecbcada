# The options of layers: initializers, regularizers, constraints, activations.
set(cornu_model_parts activations.cc constraints.cc initializers.cc parts.cc regularizers.cc
                      serialized.cc)
