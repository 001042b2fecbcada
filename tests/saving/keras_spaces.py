# SPDX-License-Identifier: Apache-2.0
"""Opens space.keras (a FeatureSpace) and model.keras (a model on its encoded features) of a folder
with real Keras, compares with values.json, and saves them again as back_space.keras and
back_model.keras."""
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
columns = {name: tf.constant(column) for name, column in values["x"].items()}
space = keras.saving.load_model(folder / "space.keras")
np.testing.assert_allclose(space(columns), values["encoded"], rtol=1e-6, atol=1e-6)
model = keras.saving.load_model(folder / "model.keras")
rows = {name: column[:, None] for name, column in columns.items()}
np.testing.assert_allclose(model(rows), values["y"], rtol=1e-5, atol=1e-6)
space.save(folder / "back_space.keras")
model.save(folder / "back_model.keras")
print("fine: space.keras, model.keras")
