# SPDX-License-Identifier: Apache-2.0
"""Runs image_classification like users do, on a few small images that it draws itself.

usage: image_classification_test.py PROGRAM
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

PROGRAM = sys.argv[1]
QUICK = {"--drawn": "20", "--image-size": "32", "--alpha": "0.1", "--epochs": "2", "--verbose": "2"}
CLASSES = ["circles", "crosses", "squares", "triangles"]


def quickly(*arguments):
    """Returns a command line; of repeated options, the later ones apply."""
    options = QUICK | dict(zip(arguments[::2], arguments[1::2]))
    return [word for option in options.items() for word in option]


def weights(path):
    return zipfile.ZipFile(path).read("model.weights.h5")


def figures(output):
    return tuple(float(figure) for figure in re.search(
        r"validation loss ([\d.]+), validation accuracy ([\d.]+)", output).groups())


class ImageClassificationTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.drawings = tempfile.TemporaryDirectory()
        cls.environment = {**os.environ, "TMPDIR": cls.drawings.name}
        cls.base = os.path.join(cls.drawings.name, "base.weights.h5")
        cls.trained = cls.run_program("--save-base", cls.base)

    @classmethod
    def tearDownClass(cls):
        cls.drawings.cleanup()

    @classmethod
    def run_program(cls, *arguments):
        return subprocess.run([PROGRAM, *quickly(*arguments)], capture_output=True, text=True,
                              env=cls.environment)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def train(self, *arguments):
        result = self.run_program(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_learns_and_says_what_it_takes_for_what(self):
        wrong = self.path("wrong.png")
        model = self.path("model.keras")
        output = self.train("--drawn", "75", "--image-size", "40", "--alpha", "1", "--epochs", "4",
                            "--batch-size", "16", "--augment", "none", "--wrong", wrong, "--save",
                            model)
        self.assertIn("no --data: training on synthetic images drawn by this program", output)
        self.assertGreater(float(re.findall(r" accuracy: ([\d.]+)", output)[-1]), 0.5)
        rows = [re.search(rf"^{name} +(\d+) +(\d+) +(\d+) +(\d+) +([\d.]+|-)$", output,
                          re.MULTILINE).groups() for name in CLASSES]
        counts = [[int(number) for number in row[:4]] for row in rows]
        right = sum(counts[i][i] for i in range(4))
        self.assertEqual(sum(map(sum, counts)), 60)
        self.assertAlmostEqual(right / 60, figures(output)[1], places=3)
        for i, row in enumerate(rows):
            recall = counts[i][i] / max(1, sum(counts[i]))
            self.assertAlmostEqual(recall, float(row[4]), delta=0.000501)  # three decimal places
        listed = re.findall(r"\.png: of (\w+), taken for (\w+)$", output, re.MULTILINE)
        self.assertEqual(len(listed), 60 - right)
        self.assertTrue(all(truth != guess for truth, guess in listed))
        with open(wrong, "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")
        self.assertIn(f"saved {model}", output)

    def test_transfer_fine_tunes_and_strategies_train_alike(self):
        self.assertEqual(self.trained.returncode, 0, self.trained.stderr)
        transfer = ["--weights", self.base, "--fine-tune-epochs", "2"]
        output = self.train(*transfer)
        self.assertEqual(output.count("Epoch 1/2"), 2)
        loss, _ = figures(output)
        for strategy in "mirrored", "central_storage":
            with self.subTest(strategy):
                there, _ = figures(self.train(*transfer, "--strategy", strategy))
                self.assertAlmostEqual(there, loss, delta=0.02)

    def resumed(self, *arguments):
        """Compares the weights of a run that was killed in each training phase with those of one
        that wasn't."""
        whole, again = self.path("whole.keras"), self.path("again.keras")
        self.train(*arguments, "--save", whole)
        states = self.path("states")
        line = [*arguments, "--save", again, "--checkpoint-dir", states, "--checkpoint-every", "1"]
        for name in ["training"] + ["fine_tuning"] * ("--weights" in arguments):
            program = subprocess.Popen([PROGRAM, *quickly(*line)], env=self.environment,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while not os.path.exists(os.path.join(states, name, "run_state")):
                self.assertIsNone(program.poll())
            program.kill()
            program.wait()
        result = self.run_program(*line)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("Training resumes after", result.stderr)
        self.assertEqual(os.listdir(states), [])
        return weights(whole), weights(again)

    def test_a_killed_run_goes_on(self):
        whole, again = self.resumed("--augment", "map", "--weights", self.base,
                                    "--fine-tune-epochs", "1")
        self.assertEqual(whole, again)

    def test_a_killed_run_from_scratch_goes_on(self):
        whole, again = self.resumed("--epochs", "3")
        self.assertEqual(whole, again)

    def test_what_is_wrong_is_said(self):
        nowhere = self.path("nowhere")
        os.mkdir(self.path("empty"))
        cases = [
            (["--data", nowhere], 105, "--data"),
            (["--data", self.path("empty")], 1, "error: "),
            (["--weights", nowhere], 105, "--weights"),
            (["--weights", self.base, "--alpha", "0.5"], 1, "expected shape"),
            (["--augment", "some"], 105, "--augment"),
            (["--image-size", "16"], 105, "--image-size"),
            (["--save", nowhere], 105, "expected a file that ends in '.keras'"),
        ]
        for arguments, code, text in cases:
            with self.subTest(arguments):
                result = self.run_program(*arguments)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn(text, result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
