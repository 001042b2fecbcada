# SPDX-License-Identifier: Apache-2.0
"""Loads models of ops on axes of unknown size in real Keras and saves them again; for
open_axes_test.cc.

FOLDER   with cases.json, the expected outputs, and a .keras file for each
"""
import json
import os
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import keras  # noqa: E402
import numpy as np  # noqa: E402


def array(written):
    return np.asarray(written["values"], "float32").reshape(written["shape"])


def difference(folder, case):
    """What is wrong with a model, if anything."""
    model = keras.models.load_model(os.path.join(folder, case["name"] + ".keras"))
    for trial in case["trials"]:
        inputs = [array(x) for x in trial["inputs"]]
        found = np.asarray(model(inputs if len(inputs) > 1 else inputs[0]))
        wanted = array(trial["output"])
        if found.shape != wanted.shape:
            return f"its shape is {found.shape}, not {wanted.shape}"
        if not np.allclose(found, wanted, rtol=1e-4, atol=1e-5):
            return f"it differs by {np.abs(found - wanted).max()}"
    model.save(os.path.join(folder, case["name"] + "_of_keras.keras"))
    return None


def main():
    with open(os.path.join(sys.argv[1], "cases.json"), encoding="utf-8") as file:
        cases = json.load(file)
    failed = False
    for case in cases:
        try:
            wrong = difference(sys.argv[1], case)
        except Exception as error:  # reported and counted
            wrong = f"{type(error).__name__}: {error}"
        if wrong:
            failed = True
            print(f"{case['name']}: {wrong}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
