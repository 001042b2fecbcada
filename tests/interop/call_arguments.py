# SPDX-License-Identifier: Apache-2.0
"""A model of real Keras whose layers are called with several arguments, masks and flags, and whose
outputs have masks, weights and metrics of their own; for call_arguments_test.cc.

make FOLDER    saves model.keras and values.h5: inputs, predictions, logs of two training steps
check FOLDER   loads cornu.keras and compares
"""
import json
import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import h5py  # noqa: E402
import keras  # noqa: E402
import numpy as np  # noqa: E402
from keras import layers  # noqa: E402

ROWS, STEPS = 5, 7


def model():
    tokens = keras.Input((STEPS,), dtype="int32", name="tokens")
    state = keras.Input((6,), name="state")
    flags = keras.Input((STEPS,), dtype="bool", name="flags")
    pairs = keras.Input((STEPS, STEPS), dtype="bool", name="pairs")
    signal = keras.Input((STEPS, 4), name="signal")
    embedded = layers.Embedding(11, 8, mask_zero=True, name="embedding")(tokens)
    # With an initial state, Keras ignores the mask of the sequences.
    rnn, last = layers.GRU(6, return_sequences=True, return_state=True, name="gru")(
        signal, initial_state=state)
    masked = layers.LSTM(5, name="lstm")(embedded, mask=flags)
    attended = layers.MultiHeadAttention(2, 4, name="attention")(
        embedded, rnn, attention_mask=pairs, use_causal_mask=True)
    normalized = layers.BatchNormalization(name="normalized")(attended)
    steps = layers.Dense(3, name="steps")(normalized)
    pooled = layers.GlobalAveragePooling1D(name="pool")(normalized)
    kind = layers.Dense(2, activation="softmax", name="kind")(
        layers.Concatenate(name="both")([pooled, last, masked]))
    return keras.Model({"tokens": tokens, "state": state, "flags": flags, "pairs": pairs,
                        "signal": signal},
                       {"steps": steps, "kind": kind})


def numbers(rng):
    tokens = rng.integers(1, 11, (ROWS, STEPS)).astype("int32")
    tokens[:, 5:] *= rng.integers(0, 2, (ROWS, 2)).astype("int32")
    flags = rng.random((ROWS, STEPS)) < 0.7
    flags[:, 0] = True
    pairs = rng.random((ROWS, STEPS, STEPS)) < 0.6
    pairs[:, :, 0] = True
    x = {"tokens": tokens, "state": rng.standard_normal((ROWS, 6)).astype("float32"),
         "flags": flags, "pairs": pairs,
         "signal": rng.standard_normal((ROWS, STEPS, 4)).astype("float32")}
    y = {"steps": rng.standard_normal((ROWS, STEPS, 3)).astype("float32"),
         "kind": np.eye(2, dtype="float32")[rng.integers(0, 2, ROWS)]}
    weights = {"steps": rng.uniform(0.2, 2, (ROWS, STEPS)).astype("float32"),
               "kind": rng.uniform(0.2, 2, ROWS).astype("float32")}
    return x, y, weights


def make(folder):
    keras.utils.set_random_seed(7)
    made = model()
    made.compile(optimizer=keras.optimizers.SGD(0.05),
                 loss={"steps": "mse", "kind": "categorical_crossentropy"},
                 loss_weights={"steps": 0.5, "kind": 2.0},
                 metrics={"kind": ["accuracy"]},
                 weighted_metrics={"steps": ["mae"], "kind": ["accuracy", "mse"]})
    made.save(os.path.join(folder, "model.keras"))
    x, y, weights = numbers(np.random.default_rng(3))
    with h5py.File(os.path.join(folder, "values.h5"), "w") as values:
        for group, arrays in {"x": x, "y": y, "w": weights}.items():
            for name, array in arrays.items():
                values[f"{group}/{name}"] = array.astype("int32") if array.dtype == bool else array
        for name, array in made.predict(x, verbose=0).items():
            values[f"before/{name}"] = array
        logs = [made.train_on_batch(x, y, sample_weight=weights, return_dict=True)
                for _ in range(2)]
        for name, array in made.predict(x, verbose=0).items():
            values[f"after/{name}"] = array
    with open(os.path.join(folder, "logs.json"), "w") as file:
        json.dump([{key: float(value) for key, value in log.items()} for log in logs], file)


def check(folder):
    found = keras.models.load_model(os.path.join(folder, "cornu.keras"))
    with h5py.File(os.path.join(folder, "values.h5")) as values:
        x = {name: values[f"x/{name}"][:] for name in values["x"]}
        x["flags"], x["pairs"] = x["flags"] > 0, x["pairs"] > 0
        for name, array in found.predict(x, verbose=0).items():
            np.testing.assert_allclose(array, values[f"before/{name}"][:], rtol=1e-4, atol=1e-5)
    assert set(found.loss) == {"steps", "kind"}, found.loss


make(sys.argv[2]) if sys.argv[1] == "make" else check(sys.argv[2])
