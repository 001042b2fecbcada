# SPDX-License-Identifier: Apache-2.0
"""Runs the MNIST programs as users do, on the digits that they draw themselves.

usage: apps_test.py MNIST CNN
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

MNIST, CNN = sys.argv[1:3]


def run(program, *arguments):
    """In a world without datasets and network."""
    with tempfile.TemporaryDirectory() as empty:
        proxies = dict.fromkeys(["http_proxy", "https_proxy"], "http://127.0.0.1:9")
        environment = {**os.environ, **proxies, "CORNU_DATASETS": empty, "XDG_CACHE_HOME": empty}
        return subprocess.run([program, *arguments], capture_output=True, text=True,
                              env=environment)


def figures(output):
    return tuple(float(figure) for figure in
                 re.search(r"test loss ([\d.]+), test accuracy ([\d.]+)", output).groups())


class AppsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def train(self, program, *arguments):
        result = run(program, "--synthetic", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_learn_save_and_go_on(self):
        for program in MNIST, CNN:
            model = os.path.join(self.folder, "model.keras")
            output = self.train(program, "--epochs", "1", "--verbose", "2", "--save", model)
            self.assertRegex(output, r"\d+/\d+ - \S+ - \S+ - accuracy: [\d.]+ - loss: ")
            self.assertIn(f"saved {model}", output)
            loss, accuracy = figures(output)
            self.assertGreater(accuracy, 0.95)
            untrained = self.train(program, "--epochs", "0", "--verbose", "0",
                                   "--resume-from", model)
            self.assertEqual(figures(untrained), (loss, accuracy))

    def test_the_same_seed_gives_the_same_bits(self):
        def files(seed):
            model = os.path.join(self.folder, f"model{seed}.keras")
            contents = []
            for _ in range(2):
                self.train(CNN, "--epochs", "1", "--verbose", "0", "--seed", seed, "--save", model)
                contents.append(weights(model))
            return contents

        def weights(path):
            return zipfile.ZipFile(path).read("model.weights.h5")

        first, again = files("7")
        self.assertEqual(first, again)
        self.assertNotEqual(first, files("8")[0])

    def test_strategies_train_alike(self):
        def train(*arguments):
            return figures(self.train(MNIST, "--epochs", "1", "--verbose", "0", "--seed", "3",
                                      "--batch-size", "96", *arguments))

        loss, accuracy = train()
        self.assertEqual(train("--strategy", "one_device"), (loss, accuracy))
        for strategy in "mirrored", "central_storage":
            for replicas in "1", "2", "3":
                with self.subTest(strategy, replicas=replicas):
                    figures_of_replicas = train("--strategy", strategy, "--replicas", replicas)
                    self.assertAlmostEqual(figures_of_replicas[0], loss, delta=0.01)
                    self.assertAlmostEqual(figures_of_replicas[1], accuracy, delta=0.01)

    def test_what_is_wrong_is_said(self):
        nowhere = os.path.join(self.folder, "nowhere")
        cases = [
            (["--data-dir", nowhere], 1, nowhere),
            (["--synthetic", "--resume-from", nowhere + ".keras"], 1, "can't be opened"),
            (["--synthetic", "--epochs", "0", "--save", nowhere + "/m.keras"], 1, "no directory"),
            (["--epochs", "-1"], 105, "--epochs"),
            (["--strategy", "nowhere"], 105, "--strategy"),
            (["--no-such-option"], 109, "no-such-option"),
        ]
        for arguments, code, text in cases:
            with self.subTest(arguments):
                result = run(MNIST, *arguments)
                self.assertEqual(result.returncode, code)
                self.assertIn(text, result.stderr)

    def test_without_data_and_network_it_draws_its_own(self):
        result = run(MNIST, "--epochs", "0", "--verbose", "0")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("training on synthetic digits", result.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
