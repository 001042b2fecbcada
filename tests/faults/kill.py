# SPDX-License-Identifier: Apache-2.0
"""Kills training programs at random moments, starts them again with the same line until one ends,
and compares what they leave with a run that nobody killed: to the bit. Every third kill is a SIGTERM
or a SIGINT, which a program may take a step to follow.

usage: kill.py MNIST CNN [--runs N] [--seed S]
"""
import argparse
import hashlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

MOST_KILLS = 3  # of one run
SIGNALS = [signal.SIGKILL] * 4 + [signal.SIGTERM, signal.SIGINT]
KEPT = {signal.SIGTERM: 143, signal.SIGINT: 130}  # exit codes where the state was written


def command(program, folder):
    return [program, "--synthetic", "--epochs", "2", "--verbose", "0",
            "--save", os.path.join(folder, "model.keras"),
            "--log", os.path.join(folder, "log.csv"),
            "--checkpoint-dir", os.path.join(folder, "state"), "--checkpoint-every", "20"]


def outcome(folder, output):
    with zipfile.ZipFile(os.path.join(folder, "model.keras")) as archive:
        weights = hashlib.sha256(archive.read("model.weights.h5")).hexdigest()
    with open(os.path.join(folder, "log.csv"), "rb") as log:
        figures = hashlib.sha256(log.read()).hexdigest()
    return weights, figures, re.search(r"test loss .*", output).group()


def uninterrupted(program):
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        result = subprocess.run(command(program, folder), capture_output=True, text=True)
        if result.returncode:
            sys.exit(result.stderr)
        if os.path.exists(os.path.join(folder, "state")):
            sys.exit(f"{program} left a state after a run that ended well")
        return outcome(folder, result.stdout), time.monotonic() - start


def killed(program, seconds, chance):
    """What a run leaves that was killed up to MOST_KILLS times, and how often it went on."""
    went_on = 0
    with tempfile.TemporaryDirectory() as folder:
        for kills in range(MOST_KILLS + 1):
            process = subprocess.Popen(command(program, folder), stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            try:
                wait = chance.uniform(0, seconds) if kills < MOST_KILLS else None
                output, errors = process.communicate(timeout=wait)
            except subprocess.TimeoutExpired:
                kind = chance.choice(SIGNALS)
                process.send_signal(kind)
                output, errors = process.communicate()
                went_on += "Training goes on" in errors
                if process.returncode in (-kind, KEPT.get(kind)):
                    continue
            else:
                went_on += "Training goes on" in errors
            if process.returncode:
                sys.exit(f"{program} ended with {process.returncode}: {errors}")
            return outcome(folder, output), went_on


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=random.randrange(2**31))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}")
    chance = random.Random(arguments.seed)
    resumed = 0
    for program in arguments.programs:
        expected, seconds = uninterrupted(program)
        for run in range(arguments.runs):
            got, went_on = killed(program, seconds, chance)
            resumed += went_on
            if got != expected:
                sys.exit(f"{program}, run {run}: expected {expected}, got {got}")
    print(f"{arguments.runs * len(arguments.programs)} runs, which went on {resumed} times: "
          "the same bits as without a kill")


if __name__ == "__main__":
    main()
