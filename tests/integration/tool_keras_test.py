# SPDX-License-Identifier: Apache-2.0
"""The command-line tool on models saved by Keras: tool_keras_test.py CORNU."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import keras
import numpy as np

CORNU = ""


def two_inputs():
    left, right = keras.Input((4,), name="left"), keras.Input((3,), name="right")
    both = keras.layers.Concatenate()([keras.layers.Dense(5, activation="tanh")(left), right])
    outputs = [keras.layers.Dense(1, name="price")(both), keras.layers.Dense(2, name="kind")(both)]
    model = keras.Model([left, right], outputs)
    model.compile("sgd", ["mse", "mse"])
    return model


class OnKerasModels(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cornu-tool-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        keras.utils.set_random_seed(3)
        self.numbers = np.random.default_rng(3)

    def path(self, name):
        return str(self.folder / name)

    def call(self, *arguments):
        done = subprocess.run([CORNU, *arguments], cwd=self.folder, text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_several_inputs_and_outputs(self):
        model = two_inputs()
        model.save(self.path("m.keras"))
        left = self.numbers.normal(size=(10, 4)).astype("float32")
        right = self.numbers.normal(size=(10, 3))  # float64 is cast to the input's dtype
        price, kind = model.predict([left, right], verbose=0)
        np.savez(self.path("x.npz"), right=right, left=left, other=price)
        np.savez(self.path("y.npz"), price=price, kind=kind)
        np.save(self.path("left.npy"), left)
        np.save(self.path("right.npy"), right)
        for inputs in (["--input", "x.npz"], ["--x", "left.npy", "--x", "right.npy"],
                       ["--x", "right=right.npy", "--x", "left=left.npy"]):
            self.call("predict", "m.keras", *inputs, "--output", "p.npz")
            found = np.load(self.path("p.npz"))
            np.testing.assert_allclose(found["price"], price, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(found["kind"], kind, rtol=1e-5, atol=1e-6)
        logs = json.loads(self.call("evaluate", "m.keras", "--x", "x.npz", "--y", "y.npz", "--json"))
        self.assertLess(logs["loss"], 1e-9)

    def test_training_goes_on_in_either(self):
        model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(4, activation="relu"),
                                  keras.layers.Dense(2)])
        model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
        x = self.numbers.normal(size=(32, 6)).astype("float32")
        y = self.numbers.normal(size=(32, 2)).astype("float32")
        np.savez(self.path("d.npz"), x=x, y=y)
        model.fit(x, y, epochs=2, verbose=0)
        model.save(self.path("m.keras"))
        self.call("fit", "m.keras", "--x", "d.npz", "--y", "d.npz", "--shuffle=false", "--epochs", "3",
                  "--output", "t.keras", "--verbose", "0")
        model.fit(x, y, epochs=3, verbose=0, shuffle=False)
        trained = keras.saving.load_model(self.path("t.keras"))
        for ours, theirs in zip(trained.get_weights(), model.get_weights()):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
        self.assertEqual(int(trained.optimizer.iterations.numpy()), 5)
        found = json.loads(self.call("evaluate", "t.keras", "--x", "d.npz", "--y", "d.npz", "--json"))
        wanted = model.evaluate(x, y, verbose=0, return_dict=True)
        for name, value in wanted.items():
            self.assertAlmostEqual(found[name], value, delta=1e-4)

    def test_formats(self):
        model = two_inputs()
        model.save(self.path("old.h5"))
        self.put_json(model)
        self.call("convert", "old.h5", "new.keras")
        self.call("convert", "new.keras", "new.weights.h5")
        self.call("convert", "m.json", "third.keras", "--weights", "new.weights.h5")
        loaded = two_inputs()
        loaded.load_weights(self.path("new.weights.h5"))
        for other in (keras.saving.load_model(self.path("new.keras")),
                      keras.saving.load_model(self.path("third.keras")), loaded):
            for ours, theirs in zip(other.get_weights(), model.get_weights()):
                np.testing.assert_array_equal(ours, theirs)

    def put_json(self, model):
        (self.folder / "m.json").write_text(model.to_json())

    def test_pictures_are_loaded_as_keras_loads_them(self):
        pixels = self.numbers.integers(0, 256, (11, 13, 3)).astype("uint8")
        keras.utils.save_img(self.path("p.png"), pixels, scale=False)
        model = keras.Sequential([keras.Input((5, 6, 3)), keras.layers.Flatten(name="pixels")])
        model.save(self.path("m.keras"))
        for interpolation in ("nearest", "bilinear", "lanczos"):
            self.call("predict", "m.keras", "--input", "p.png", "--interpolation", interpolation,
                      "--preprocess", "tf", "--output", "p.npy")
            picture = keras.utils.load_img(self.path("p.png"), target_size=(5, 6),
                                           interpolation=interpolation)
            wanted = keras.applications.mobilenet_v2.preprocess_input(
                keras.utils.img_to_array(picture))
            np.testing.assert_allclose(np.load(self.path("p.npy"))[0], wanted.reshape(-1), atol=1e-6)

    def test_summary_is_as_kerass(self):
        model = two_inputs()
        model.save(self.path("m.keras"))
        lines = []
        wanted = keras.saving.load_model(self.path("m.keras"))
        lines = []
        wanted.summary(line_length=80, print_fn=lambda text, **_: lines.append(text))
        found = self.call("summary", "m.keras", "--line-length", "80")
        self.assertEqual(found.split(), "\n".join(lines).split())


if __name__ == "__main__":
    CORNU = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
