# SPDX-License-Identifier: Apache-2.0
"""The command-line tool on files, called like by users: tool_test.py CORNU DOCS [UNITTEST
ARGUMENTS]."""
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

import tool_files as files

CORNU = DOCS = ""
SECONDS = 120  # after this time, something hangs

COMMANDS = ["summary", "predict", "evaluate", "fit", "convert", "plot", "profile", "devices", "launch",
            "completion", "man"]


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="cornu-tool-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def put(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def call(self, *arguments, code=0, **environment):
        done = subprocess.run([CORNU, *arguments], cwd=self.folder, text=True, capture_output=True,
                              timeout=SECONDS, env={**os.environ, **environment})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def failure(self, *arguments, code=1):
        """Returns the single line that a failing call writes."""
        done = self.call(*arguments, code=code)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertNotIn("terminate", done.stderr)
        return done.stderr

    def data(self):
        x, y = files.examples()
        shape = (files.EXAMPLES, 8)
        self.put("x.npy", files.npy(x, shape))
        self.put("y.npy", files.npy(y, (files.EXAMPLES,), "i"))
        with zipfile.ZipFile(self.folder / "data.npz", "w") as archive:
            archive.writestr("x.npy", files.npy(x, shape))
            archive.writestr("y.npy", files.npy(y, (files.EXAMPLES,), "i"))
            archive.writestr("half.npy", files.npy(x[:240], (30, 8)))
        self.put("net.json", files.classifier())

    def trained(self, *options, output="m.keras"):
        self.data()
        self.call("fit", "net.json", "--x", "x.npy", "--y", "y.npy", "--optimizer", "adam", "--loss",
                  "sparse_categorical_crossentropy", "--metrics", "accuracy", "--learning-rate",
                  "0.01", "--verbose", "0", "--output", output, *options)


class Models(InFolder):
    def test_fit_and_evaluate_by_what_the_file_says(self):
        self.trained("--epochs", "30")
        text = self.call("evaluate", "m.keras", "--x", "x.npy", "--y", "y.npy", "--verbose", "0").stdout
        found = json.loads(self.call("evaluate", "m.keras", "--x", "data.npz", "--y", "data.npz",
                                     "--json").stdout)
        self.assertGreater(found["accuracy"], 0.8)
        self.assertEqual(text, f"accuracy: {found['accuracy']:.6g}\nloss: {found['loss']:.6g}\n")
        # Once more, with the loss and optimizer from the file.
        self.call("fit", "m.keras", "--x", "x.npy", "--y", "y.npy", "--epochs", "10", "--output",
                  "again.keras", "--verbose", "2", "--validation-split", "0.2")
        more = json.loads(self.call("evaluate", "again.keras", "--x", "x.npy", "--y", "y.npy",
                                    "--json").stdout)
        self.assertLess(more["loss"], found["loss"])

    def test_fit_options(self):
        self.trained()
        common = ["fit", "m.keras", "--x", "x.npy", "--y", "y.npy", "--verbose", "2"]
        for name, options in [("a", []), ("b", []), ("c", ["--shuffle=false"]),
                              ("d", ["--seed", "3"]), ("e", ["--learning-rate", "0.5"])]:
            self.call(*common, "--output", f"{name}.keras", *options)
        weights = {name: files.weights(self.folder / f"{name}.keras") for name in "abcde"}
        self.assertEqual(weights["a"], weights["b"])
        self.assertEqual(len(set(weights.values())), 4)
        text = self.call(*common, "--output", "v.keras", "--validation-x", "x.npy", "--validation-y",
                         "y.npy").stdout
        self.assertRegex(text, r"val_loss: [\d.]+\nsaved v.keras\n")
        self.call(*common, "--output", "w.weights.h5")
        self.assertTrue((self.folder / "w.weights.h5").exists())

    def test_strategies(self):
        self.trained()
        for strategy in ["one_device", "mirrored", "central_storage"]:
            self.call("fit", "m.keras", "--x", "x.npy", "--y", "y.npy", "--verbose", "0", "--strategy",
                      strategy, "--replicas", "2", "--output", f"{strategy}.keras")
        self.call("launch", "-n", "2", "--", CORNU, "fit", "m.keras", "--x", "x.npy", "--y", "y.npy",
                  "--verbose", "0", "--strategy", "multi_worker", "--replicas", "1", "--output",
                  "workers.keras")
        losses = [json.loads(self.call("evaluate", f"{name}.keras", "--x", "x.npy", "--y", "y.npy",
                                       "--json").stdout)["loss"]
                  for name in ["one_device", "mirrored", "central_storage", "workers"]]
        for loss in losses:
            self.assertAlmostEqual(loss, losses[0], delta=1e-4)

    def test_tensorboard(self):
        self.trained("--tensorboard", "logs", "--profile-batch", "1,2")
        (trace,) = self.folder.glob("logs/train/plugins/profile/*/*.trace.json.gz")
        with gzip.open(trace) as file:
            names = [event["name"] for event in json.load(file)["traceEvents"]]
        self.assertIn("step 2", names)
        self.assertTrue(trace.with_name(trace.name.replace("trace.json.gz", "xplane.pb")).exists())

    def test_predict(self):
        self.trained()
        self.call("predict", "m.keras", "--input", "x.npy", "--output", "p.npy")
        values, shape = files.read_npy(self.folder / "p.npy")
        self.assertEqual(shape, (files.EXAMPLES, 3))
        self.call("predict", "m.keras", "--input", "data.npz:half", "--output", "half.npy",
                  "--batch-size", "7")
        half = files.read_npy(self.folder / "half.npy")
        self.assertEqual(half[1], (30, 3))
        for one, other in zip(half[0], values):
            self.assertAlmostEqual(one, other, delta=1e-6)
        self.call("predict", "m.keras", "--input", "data.npz", "--output", "p.npz")
        with zipfile.ZipFile(self.folder / "p.npz") as archive:
            self.assertEqual(archive.namelist(), ["scores.npy"])
            self.assertEqual(files.parsed_npy(archive.read("scores.npy"))[0], values)
        self.call("predict", "m.keras", "--input", "x.npy", "--output", "p.csv")
        text = (self.folder / "p.csv").read_text()
        self.assertEqual(self.call("predict", "m.keras", "--input", "x.npy").stdout, text)
        lines = text.splitlines()
        self.assertEqual((lines[0], len(lines)), ("scores_0,scores_1,scores_2", files.EXAMPLES + 1))
        for field, value in zip(",".join(lines[1:]).split(","), values):
            self.assertAlmostEqual(float(field), value, delta=1e-7)

    def test_large_integers_are_written_whole(self):
        self.put("net.json", files.of_integers())
        self.put("x.npy", files.npy([16777217, -(2 ** 62) - 1, 2 ** 63 - 1], (1, 3), "q"))
        self.assertEqual(self.call("predict", "net.json", "--input", "x.npy").stdout,
                         "out_0,out_1,out_2\n16777217,-4611686018427387905,9223372036854775807\n")

    def test_several_inputs_and_outputs_belong_together(self):
        self.put("net.json", files.of_two())
        self.call("convert", "net.json", "net.keras")
        for name, rows in [("few", 3), ("many", 5)]:
            self.put(f"{name}.npy", files.npy([1.0] * (2 * rows), (rows, 2)))
        with zipfile.ZipFile(self.folder / "uneven.npz", "w") as archive:
            archive.writestr("a.npy", files.npy([1.0] * 6, (3, 2)))
            archive.writestr("b.npy", files.npy([1.0] * 10, (5, 2)))
        self.put("shared.json", files.of_one_layer())
        self.call("convert", "shared.json", "shared.keras")
        self.call("predict", "shared.keras", "--x", "a=few.npy", "--x", "b=few.npy", "--output",
                  "p.npz")
        with zipfile.ZipFile(self.folder / "p.npz") as archive:
            self.assertEqual(archive.namelist(), ["both.npy", "both_1.npy"])
        for x in [["a=few.npy", "b=many.npy"], ["many.npy", "few.npy"], ["uneven.npz"]]:
            error = self.failure("predict", "net.keras", *[f"--x={file}" for file in x])
            self.assertIn("Expected as many examples for every input, got", error)
        error = self.failure("fit", "net.json", "--x", "few.npy", "--x", "few.npy", "--y",
                             "right=few.npy", "--y", "few.npy", "--optimizer", "sgd", "--loss", "mse",
                             "--output", "m.keras")
        self.assertIn("Some targets were given by name, and some without", error)
        with zipfile.ZipFile(self.folder / "even.npz", "w") as archive:
            for name in "ab":
                archive.writestr(f"{name}.npy", files.npy([1.0] * 6, (3, 2)))
        before = (self.folder / "even.npz").read_bytes()
        for x in [["even.npz"], ["a=even.npz:a", "b=even.npz:b"], ["even.npz:a", "even.npz:b"]]:
            error = self.failure("predict", "net.keras", *[f"--x={file}" for file in x], "--output",
                                 "even.npz", code=2)
            self.assertIn("'even.npz' is what is read", error)
        self.assertEqual((self.folder / "even.npz").read_bytes(), before)
        self.call("predict", "net.keras", "--x", "even.npz", "--output", "p.npz")

    def test_an_architecture_alone_predicts_nothing(self):
        self.data()
        for command in [["predict", "net.json", "--input", "x.npy"],
                        ["evaluate", "net.json", "--x", "x.npy", "--y", "y.npy"]]:
            self.assertIn("'net.json' is an architecture without weights",
                          self.failure(*command, code=2))

    def test_rows_that_are_no_examples(self):
        self.put("net.json", files.of_rows())
        self.put("x.npy", files.npy([1.0] * 24, (4, 2, 3)))
        error = self.failure("predict", "net.json", "--input", "x.npy")
        self.assertIn("The model's output 'rows' has 8 rows, 'flat' has 4", error)
        self.call("predict", "net.json", "--input", "x.npy", "--output", "p.npz")
        self.put("pixels.json", files.of_pixels())
        self.put("seen/a.png", files.png(2, 2, (9, 9, 9)))
        text = self.call("predict", "pixels.json", "--input", "seen").stdout
        self.assertEqual(text, "pixels_0,pixels_1,pixels_2\n" + "9,9,9\n" * 4)
        self.put("names.txt", "r\ng\nb\n")
        text = self.call("predict", "pixels.json", "--input", "seen", "--top", "1", "--classes",
                         "names.txt").stdout
        self.assertEqual(text, "".join(f"example {i}: r 9.0000\n" for i in range(4)))

    def test_pictures(self):
        self.put("seen.json", files.of_pictures())
        self.call("convert", "seen.json", "seen.keras")
        for name, color in [("b/2.png", (0, 0, 255)), ("a/1.png", (255, 0, 0)), ("a/,.png", (0, 255, 0))]:
            self.put(f"pictures/{name}", files.png(9, 7, color))
        self.put("pictures/notes.txt", "no picture")
        text = self.call("predict", "seen.keras", "--input", "pictures", "--batch-size", "2").stdout
        self.assertEqual(text.splitlines(), ["file,mean_0,mean_1,mean_2", '"pictures/a/,.png",0,1,0',
                                             "pictures/a/1.png,1,0,0", "pictures/b/2.png,0,0,1"])
        self.put("colors.txt", "red\ngreen\r\nblue\n")
        text = self.call("predict", "seen.keras", "--input", "pictures/a/1.png", "--top", "1",
                         "--classes", "colors.txt").stdout
        self.assertEqual(text, "pictures/a/1.png: red 1.0000\n")
        self.put("pictures/a/3.png", b"damaged")
        self.assertIn("pictures/a/3.png", self.failure("predict", "seen.keras", "--input", "pictures"))
        self.put("few.txt", "one\n")
        self.assertIn("'few.txt' names 1 classes, a line each; the model's output is (1, 3)",
                      self.failure("predict", "seen.keras", "--input", "pictures/a/1.png", "--top", "1",
                                   "--classes", "few.txt"))
        self.assertIn("the model's output is (1, 3). Give a file with its classes' names: --classes",
                      self.failure("predict", "seen.keras", "--input", "pictures/a/1.png", "--top", "1"))

    def test_classes_of_folders_are_targets(self):
        self.put("net.json", files.of_pictures())
        for name in ("a/1", "b/1", "c/1"):
            self.put(f"pictures/{name}.png", files.png(4, 4, (9, 9, 9)))
        fit = ["fit", "net.json", "--optimizer", "sgd", "--loss", "sparse_categorical_crossentropy"]
        self.call(*fit, "--x", "pictures", "--output", "m.keras")
        self.assertIn("Targets are missing", self.failure(*fit, "--x", "pictures/a/1.png", "--output",
                                                          "m.keras"))
        self.put("pictures/1.png", files.png(4, 4, (9, 9, 9)))
        self.assertIn("isn't in a class directory",
                      self.failure(*fit, "--x", "pictures", "--output", "m.keras"))

    def test_convert(self):
        self.trained()
        self.call("convert", "m.keras", "m.weights.h5")
        self.call("convert", "m.keras", "m.json")
        self.call("convert", "m.json", "back.keras", "--weights", "m.weights.h5")
        self.assertEqual(files.weights(self.folder / "m.keras"),
                         files.weights(self.folder / "back.keras"))
        self.call("convert", "m.keras", "m.h5")
        self.call("convert", "m.h5", "again.keras")
        self.assertEqual(files.weights(self.folder / "m.keras"),
                         files.weights(self.folder / "again.keras"))
        self.call("convert", "m.keras", "m.onnx")
        self.assertIn(b"scores", (self.folder / "m.onnx").read_bytes())
        self.call("convert", "m.onnx", "read.keras")
        line = lambda model: [float(number) for number in self.call(
            "predict", model, "--input", "x.npy").stdout.splitlines()[-1].split(",")]
        for model in "m.onnx", "read.keras":
            for found, wanted in zip(line(model), line("m.keras"), strict=True):
                self.assertAlmostEqual(found, wanted, places=5)
        self.assertIn("hidden", self.call("summary", "m.onnx").stdout)
        self.call("fit", "m.onnx", "--x", "x.npy", "--y", "y.npy", "--optimizer", "sgd", "--loss",
                  "sparse_categorical_crossentropy", "--output", "fitted.keras")
        self.call("convert", "m.keras", "plain.keras", "--no-compile")
        with zipfile.ZipFile(self.folder / "plain.keras") as archive:
            self.assertFalse(json.loads(archive.read("config.json")).get("compile_config"))
        self.assertIn("was saved without a loss",
                      self.failure("evaluate", "plain.keras", "--x", "x.npy", "--y", "y.npy"))

    def test_summary_plot_profile_devices(self):
        self.trained()
        text = self.call("summary", "m.keras", "--show-trainable").stdout
        self.assertIn("hidden (Dense)", text)
        self.assertIn("Optimizer params: 392", text)
        self.call("plot", "m.keras", "--output", "m.dot", "--show-shapes")
        dot = (self.folder / "m.dot").read_text()
        self.assertIn("<b>scores</b> (Dense)", dot)
        self.assertEqual(dot.count(" -> "), 2)
        error = self.call("plot", "m.keras", "--output", "m.svg", code=1, PATH="/nowhere").stderr
        self.assertIn("Install it (on Debian: apt-get install graphviz)", error)
        self.assertFalse((self.folder / "m.svg").exists())
        self.assertIn("Profile of predict_step", self.call("profile", "m.keras").stdout)
        found = json.loads(self.call("profile", "m.keras", "--input", "x.npy", "--y", "y.npy", "--json",
                                     "--runs", "3", "--trace", "t.json").stdout)
        self.assertEqual((found["step"], found["runs"]), ("train_step", 3))
        self.assertIn(["gradients/hidden"], [entry["layers"] for entry in found["instructions"]])
        events = json.loads((self.folder / "t.json").read_text())["traceEvents"]
        self.assertEqual(len([event for event in events if event["ph"] == "X"]),
                         len(found["instructions"]))
        known = json.loads(self.call("devices", "--json", OMP_NUM_THREADS="1").stdout)
        self.assertEqual(known["compute_threads"], 1)
        self.assertIn("Instruction set: ", self.call("devices").stdout)


class Resume(InFolder):
    def test_a_training_that_ctrl_c_ended_goes_on_with_the_same_bits(self):
        x, y = files.examples(3000)
        self.put("x.npy", files.npy(x, (3000, 8)))
        self.put("y.npy", files.npy(y, (3000,), "i"))
        self.put("net.json", files.classifier())
        fit = ["fit", "net.json", "--x", "x.npy", "--y", "y.npy", "--optimizer", "adam", "--loss",
               "sparse_categorical_crossentropy", "--epochs", "60", "--batch-size", "4", "--verbose",
               "2", "--checkpoint-every", "100"]
        self.call(*fit, "--output", "whole.keras")
        resumable = [*fit, "--output", "m.keras", "--checkpoint-dir", "state"]
        job = subprocess.Popen([CORNU, *resumable], cwd=self.folder, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for line in job.stdout:
            if line.startswith("Epoch 3/"):
                job.send_signal(signal.SIGINT)
                break
        _, errors = job.communicate(timeout=SECONDS)
        self.assertEqual(job.returncode, 130, errors)
        self.assertNotIn("terminate", errors)
        self.assertFalse((self.folder / "m.keras").exists())
        self.assertIn("Training resumes", self.call(*resumable).stderr)
        self.assertEqual(files.weights(self.folder / "m.keras"),
                         files.weights(self.folder / "whole.keras"))


class WrongCalls(InFolder):
    def test_the_command_line_is_wrong(self):
        self.data()
        self.call("convert", "net.json", "m.keras")
        for arguments, words in [
                (["predict", "m.keras"], "--input is required"),
                (["predict", "m.keras", "--input", "x.npy", "--output", "p.txt"],
                 "expected a file that ends in '.npy', '.npz' or '.csv', got 'p.txt'"),
                (["predict", "m.keras", "--input", "x.npy", "--output", "no/p.npy"],
                 "there is no directory 'no' for 'no/p.npy'"),
                (["predict", "m.keras", "--input", "x.npy", "--batch-size", "0"],
                 "--batch-size: expected a whole number from 1 on, got '0'"),
                (["predict", "m.keras", "--input", "x.npy", "--output", "x.npy"],
                 "'x.npy' is what is read"),
                (["predict", "net.bin", "--input", "x.npy"], "got 'net.bin'"),
                (["fit", "net.json", "--x", "x.npy", "--y", "y.npy"], "--output is required"),
                (["fit", "net.json", "--x", "x.npy", "--output", "m.keras", "--strategy", "all"],
                 "all not in"),
                (["fit", "net.json", "--x", "x.npy", "--output", "m.keras", "--validation-y",
                  "y.npy"], "--validation-x"),
                (["fit", "net.json", "--x", "x.npy", "--output", "m.keras", "--validation-x",
                  "x.npy"], "--validation-y"),
                (["fit", "net.json", "--x", "x.npy", "--output", "m.keras", "--learning-rate", "0"],
                 "expected a number above 0"),
                (["fit", "net.json", "--x", "x.npy", "--output", "m.keras", "--validation-split",
                  "1"], "expected a number from 0 to below 1, like 0.2, got 1"),
                (["convert", "net.json", "net.json"], "'net.json' is what is read"),
                (["fit", "m.keras", "--x", "x.npy", "--y", "y.npy", "--output", "m.keras"],
                 "'m.keras' is what is read"),
                (["summary", "net.json", "--line-length", "100000000000"], "--line-length"),
                (["summary", "net.json", "--", "more.json"], "more.json"),
                (["convert", "w.weights.h5", "m.keras"], "has weights alone"),
                (["predict", "w.weights.h5", "--input", "x.npy"],
                 "cornu convert MODEL.json MODEL.keras --weights 'w.weights.h5'"),
                (["convert", "net.json", "m.onx"], "expected a file that ends in"),
                (["plot", "net.json", "--output", "m.bmp"], "expected a file that ends in '.dot'"),
                (["profile", "net.json", "--y", "y.npy"], "--y requires --input"),
                (["completion", "tcsh"], "tcsh"),
                (["summary"], "model is required"),
                (["summary", "--deep", "net.json"], "--deep"),
                (["dance"], "there is no command 'dance'")]:
            with self.subTest(arguments=arguments):
                error = self.failure(*arguments, code=2)
                self.assertTrue(error.startswith("cornu"), error)
                self.assertIn(words, error)
                self.assertIn("--help", error)

    def test_files_are_wrong(self):
        self.data()
        self.call("convert", "net.json", "m.keras")
        self.put("damaged.keras", (self.folder / "m.keras").read_bytes()[:-200])
        self.put("bad.json", "{")
        self.put("three.npy", files.npy([0.0] * 6, (2, 3)))
        self.put("number.npy", files.npy([0.0], ()))
        self.put("text.txt", "words")
        (self.folder / "empty").mkdir()
        for arguments, words in [
                (["summary", "none.keras"], "'none.keras' can't be opened: No such file"),
                (["summary", "damaged.keras"], "damaged.keras"),
                (["summary", "bad.json"], "JSON"),
                (["predict", "m.keras", "--input", "none.npy"], "none.npy"),
                (["predict", "m.keras", "--input", "text.txt"], "expected an array (.npy, .npz)"),
                (["predict", "m.keras", "--input", "none.png"], "There is no file 'none.png'"),
                (["predict", "m.keras", "--input", "empty"], "has no images"),
                (["predict", "m.keras", "--input", "number.npy"], "got a number"),
                (["predict", "m.keras", "--input", "three.npy"], "expected 8 elements"),
                (["predict", "m.keras", "--input", "data.npz:z"], "'z'"),
                (["predict", "m.keras", "--input", "x.npy", "--input", "x.npy"],
                 "The model has 1 input (x), but the number of files is 2"),
                (["predict", "m.keras", "--input", "w=x.npy"],
                 "the model has no input or output named 'w'"),
                (["fit", "m.keras", "--x", "x.npy", "--y", "y.npy", "--output", "t.keras"],
                 "'m.keras' was saved without compile arguments. Give --optimizer and --loss."),
                (["fit", "m.keras", "--x", "x.npy", "--y", "y.npy", "--output", "t.keras",
                  "--optimizer", "adm", "--loss", "mse"], "'adam'")]:
            with self.subTest(arguments=arguments):
                error = self.failure(*arguments)
                self.assertTrue(error.startswith("cornu " + arguments[0]), error)
                self.assertIn(words, error)
        self.assertFalse((self.folder / "t.keras").exists())

    def test_standard_output_is_gone(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([CORNU, "man"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr), (1, "cornu: standard output can't be written\n"))

    def test_standard_error_is_gone(self):
        for arguments, code in [(["nonsense"], 2), (["summary", "none.keras"], 1), (["man"], 1),
                                (["summary", "--nonsense"], 2), (["--help"], 1), (["devices"], 1),
                                (["launch", "--hosts", "?", "--", "true"], 2)]:
            with self.subTest(arguments=arguments), open("/dev/full", "w") as full:
                done = subprocess.run([CORNU, *arguments], cwd=self.folder, stdout=full, stderr=full)
                self.assertEqual(done.returncode, code)

    def test_results_that_standard_output_does_not_take(self):
        self.data()
        self.call("convert", "net.json", "net.keras")
        for arguments in [["predict", "net.keras", "--input", "x.npy"], ["summary", "net.json"],
                          ["devices"]]:
            with open("/dev/full", "w") as full:
                done = subprocess.run([CORNU, *arguments], cwd=self.folder, stdout=full,
                                      stderr=subprocess.PIPE, text=True)
            self.assertEqual((done.returncode, done.stderr),
                             (1, f"cornu {arguments[0]}: standard output can't be written\n"))

    def test_a_standard_output_that_is_closed(self):
        self.data()
        self.call("convert", "net.json", "net.keras")
        for arguments, who in [(["predict", "net.keras", "--input", "x.npy"], "cornu predict"),
                               (["devices"], "cornu devices"), (["man"], "cornu"),
                               (["--help"], "cornu"), (["predict", "--help"], "cornu")]:
            with self.subTest(arguments=arguments):
                done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", CORNU, *arguments],
                                      cwd=self.folder, stderr=subprocess.PIPE, text=True)
                self.assertEqual((done.returncode, done.stderr),
                                 (1, f"{who}: standard output can't be written\n"))
        done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", CORNU, "predict", "net.keras", "--input",
                               "x.npy", "--output", "p.npy"], cwd=self.folder, stderr=subprocess.PIPE,
                              text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_numbers_that_are_too_large(self):
        self.data()
        huge = "99999999999999999999"
        fit = ["fit", "net.json", "--x", "x.npy", "--y", "y.npy", "--optimizer", "adam", "--loss", "mse",
               "--output", "t.keras"]
        for arguments, words in [
                ([*fit, "--epochs", huge], f"--epochs: no number can be as large as '{huge}'"),
                ([*fit, "--seed", huge], huge), ([*fit, "--checkpoint-every", huge], huge),
                ([*fit, "--profile-batch", huge], huge),
                (["predict", "net.json", "--input", "x.npy", "--batch-size", huge], "no number can be"),
                (["predict", "net.json", "--input", "x.npy", "--batch-size", "-" + huge], "from 1 on"),
                (["profile", "net.json", "--runs", "1e11"], "from 1 to 1000000, got '1e11'"),
                (["profile", "net.json", "--runs", "100000000000"], "from 1 to 1000000, got '100000000000'")]:
            with self.subTest(arguments=arguments):
                self.assertIn(words, self.failure(*arguments, code=2))


class Texts(InFolder):
    def test_help_and_version(self):
        text = self.call("--help").stdout
        for command in COMMANDS:
            self.assertRegex(text, rf"\n  {command} +\w")
            own = self.call(command, "--help").stdout
            self.assertIn(f"usage: cornu {command}", own)
            self.assertIn("Example", own)
        self.assertRegex(self.call("--version").stdout, r"^cornu \d+\.\d+\.\d+\n$")

    def options(self, command):
        return set(re.findall(r"--[a-z-]+", self.call(command, "--help").stdout.split("Example")[0]))

    def test_the_manual_page_has_all_options(self):
        page = self.call("man").stdout.replace("\\-", "-")
        self.assertTrue(page.startswith(".TH CORNU 1"))
        for command in COMMANDS:
            self.assertIn(f".SS cornu {command}\n", page)
            for option in self.options(command):
                self.assertIn(option, page)
        self.assertTrue(page.isascii())

    def test_completion(self):
        for shell in "bash", "zsh", "fish":
            script = self.call("completion", shell).stdout
            for command in COMMANDS:
                self.assertIn(command, script)
        script = self.folder / "cornu.bash"
        script.write_text(self.call("completion", "bash").stdout)

        def completed(*words):
            line = " ".join(f"'{word}'" for word in words)
            asked = (f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _cornu; "
                     'printf "%s\\n" "${COMPREPLY[@]}"')
            return subprocess.run(["bash", "-c", asked], capture_output=True, text=True).stdout.split()
        self.assertEqual(completed("cornu", "p"), ["predict", "plot", "profile"])
        self.assertEqual(completed("cornu", "fit", "--strategy", "m"), ["mirrored", "multi_worker"])
        self.assertEqual(completed("cornu", "completion", "z"), ["zsh"])
        for command in COMMANDS:
            found = set(completed("cornu", command, "--"))
            self.assertTrue(self.options(command) & found or command == "man", (command, found))
            self.assertIn("--help", found)

    def test_the_examples_of_the_page(self):
        self.trained()
        (self.folder / "bin").mkdir()
        (self.folder / "bin/cornu").symlink_to(CORNU)
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        page = (Path(DOCS) / "tool.md").read_text()
        examples = [line for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
                    for line in block.splitlines()]
        self.assertGreater(len(examples), 8)
        for example in examples:
            with self.subTest(example=example):
                done = subprocess.run(["bash", "-c", example], cwd=self.folder, text=True,
                                      capture_output=True, env={**os.environ, "PATH": path},
                                      timeout=SECONDS)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    CORNU = str(Path(sys.argv.pop(1)).resolve())
    DOCS = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
