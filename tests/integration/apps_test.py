# SPDX-License-Identifier: Apache-2.0
"""Runs the MNIST programs like users do, on the digits that they draw themselves.

usage: apps_test.py MNIST CNN MULTI_WORKER
"""
import glob
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

from tool_files import png

MNIST, CNN, MULTI_WORKER = sys.argv[1:4]


def run(program, *arguments):
    """Runs a program without access to datasets and network."""
    with tempfile.TemporaryDirectory() as empty:
        proxies = dict.fromkeys(["http_proxy", "https_proxy"], "http://127.0.0.1:9")
        environment = {**os.environ, **proxies, "CORNU_DATASETS": empty, "XDG_CACHE_HOME": empty}
        return subprocess.run([program, *arguments], capture_output=True, text=True,
                              env=environment)


def figures(output):
    return tuple(float(figure) for figure in
                 re.search(r"test loss ([\d.]+), test accuracy ([\d.]+)", output).groups())


def records(path):
    """Yields the records of a TFRecord file."""
    with open(path, "rb") as file:
        while header := file.read(12):
            yield file.read(struct.unpack("<Q", header[:8])[0])
            file.read(4)


class AppsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def train(self, program, *arguments):
        result = run(program, "--synthetic", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_standard_error_is_gone(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([MNIST, "--synthetic", "--resume-from", "none.keras"],
                                  cwd=self.folder, stdout=subprocess.DEVNULL, stderr=full)
        self.assertEqual(done.returncode, 1)

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

    def test_two_workers_train_as_one_does(self):
        def trained(workers, batch, rate):
            model = os.path.join(self.folder, f"model{workers}.keras")
            output = self.train(MULTI_WORKER, "-n", workers, "--batch-size", batch,
                                "--learning-rate", rate, "--epochs", "2",
                                "--steps-per-epoch", "20", "--save", model)
            self.assertTrue(os.path.exists(model))
            return re.findall(r"accuracy: ([\d.]+) - loss: ([\d.]+)", output)

        alone = trained("1", "64", "0.02")
        together = trained("2", "32", "0.01")
        self.assertEqual(len(alone), 2)  # only the chief shows its progress
        self.assertEqual(len(together), 2)
        for one, both in zip(alone, together):
            for figure, other in zip(one, both):
                self.assertAlmostEqual(float(figure), float(other), delta=2e-4)

    def test_two_workers_learn_a_folder_of_pictures(self):
        for name, color in [("red", (200, 30, 30)), ("blue", (30, 30, 200))]:
            os.makedirs(os.path.join(self.folder, "pictures", name))
            for number in range(6):
                path = os.path.join(self.folder, "pictures", name, f"{number}.png")
                with open(path, "wb") as file:
                    file.write(png(8 + number, 9, color))
        model = os.path.join(self.folder, "model.keras")
        result = run(MULTI_WORKER, "-n", "2", "--dataset", os.path.join(self.folder, "pictures"),
                     "--batch-size", "3", "--epochs", "2", "--steps-per-epoch", "3", "--save", model)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(re.findall(r"3/3 - .*accuracy: [\d.]+ - loss: [\d.]+", result.stdout)), 2,
                         result.stdout)
        self.assertIn(f"saved {model}", result.stdout)
        self.assertTrue(zipfile.is_zipfile(model))

    def test_an_evaluator_beside_two_workers(self):
        state = os.path.join(self.folder, "run")
        output = self.train(MULTI_WORKER, "-n", "2", "--evaluator", "--checkpoint-dir", state,
                            "--epochs", "2", "--steps-per-epoch", "4")
        self.assertRegex(output, r"evaluator.*accuracy: [\d.]+ - loss: [\d.]+")
        # Each evaluation writes a file. The first epoch's is only evaluated if the second one takes
        # long enough.
        logs = glob.glob(os.path.join(state, "logs", "validation", "events.out.tfevents.*"))
        evaluations = [record for log in sorted(logs)
                       for record in records(log) if b"evaluation_loss_vs_iterations" in record]
        self.assertTrue(evaluations)
        # The last one belongs to the last epoch: "step" is the event's field 2.
        self.assertIn(b"\x10\x08", evaluations[-1])

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
            (["--save", nowhere + "/m.keras"], 105, f"--save: there is no directory '{nowhere}'"),
            (["--save", self.folder + "/m.h5"], 105, "--save: expected a file that ends in '.keras'"),
            *((["--learning-rate", rate], 105,
               f"--learning-rate: expected a number above 0, like 0.001, got {rate}")
              for rate in ["nan", "inf", "0", "-1", "1e-400", "fast"]),
            (["--epochs", "-1"], 105, "--epochs"),
            (["--strategy", "nowhere"], 105, "--strategy"),
            (["--no-such-option"], 109, "no-such-option"),
        ]
        for arguments, code, text in cases:
            with self.subTest(arguments):
                result = run(MNIST, *arguments)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn(text, result.stderr)

    def test_a_resumed_run_says_what_is_another(self):
        states = os.path.join(self.folder, "states")
        arguments = ["--synthetic", "--epochs", "2", "--verbose", "0", "--checkpoint-dir", states,
                     "--checkpoint-every", "1"]
        program = subprocess.Popen([MNIST, *arguments, "--seed", "1"])
        while not os.path.exists(os.path.join(states, "run_state")):
            self.assertIsNone(program.poll())
        program.kill()
        program.wait()
        resumed = run(MNIST, *arguments, "--seed", "2", "--learning-rate", "0.004")
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        for text in ["Training resumes after", "from seed 1, this program sets 2",
                     "the optimizer's learning_rate.initial_learning_rate was 0.002 in the saved "
                     "run, but is 0.004 in this program. It continues with 0.004"]:
            self.assertIn(text, resumed.stderr)

    def test_without_data_and_network_it_draws_its_own(self):
        result = run(MNIST, "--epochs", "0", "--verbose", "0")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("training on synthetic digits", result.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
