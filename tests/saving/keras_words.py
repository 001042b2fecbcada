# SPDX-License-Identifier: Apache-2.0
"""Opens words.keras of a folder with real Keras, compares, and saves it again as back.keras.

values.json has the inputs (rows of strings), the expected outputs, and the vocabulary of each layer
that has one.
"""
import json
import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

folder = pathlib.Path(sys.argv[1])
values = json.loads((folder / "values.json").read_text(encoding="utf-8"))
model = keras.saving.load_model(folder / "words.keras")
outputs = model([tf.constant(x) for x in values["x"]])
assert len(outputs) == len(values["y"])
for found, expected in zip(outputs, values["y"]):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-6)
for name, tokens in values["vocabularies"].items():
    assert [str(token) for token in model.get_layer(name).get_vocabulary()] == tokens, name
model.save(folder / "back.keras")
print("fine: words.keras")
