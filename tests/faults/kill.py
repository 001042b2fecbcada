# SPDX-License-Identifier: Apache-2.0
"""Kills training programs, restarts them with the same command line until one finishes, and
compares the results bit by bit with an undisturbed run. Every other kill comes at a random moment,
and the others while a state is written; every third one is a SIGTERM or a SIGINT, which a program
may take a step to follow. Every fourth run is on two replicas (--strategy mirrored).

usage: kill.py MNIST CNN [--runs N] [--seed S]
"""
import argparse
import collections
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

from jobs import being_written

MOST_KILLS = 3  # per run
SIGNALS = [signal.SIGKILL] * 4 + [signal.SIGTERM, signal.SIGINT]
KEPT = {signal.SIGTERM: 143, signal.SIGINT: 130}  # exit codes when the state was written
LINES = [[]] * 3 + [["--strategy", "mirrored", "--replicas", "2"]]  # options of the runs, in turn


def command(line, folder):
    return line + ["--synthetic", "--epochs", "2", "--verbose", "0",
                   "--save", os.path.join(folder, "model.keras"),
                   "--log", os.path.join(folder, "log.csv"),
                   "--checkpoint-dir", os.path.join(folder, "state"), "--checkpoint-every", "20"]


def outcome(folder, output):
    with zipfile.ZipFile(os.path.join(folder, "model.keras")) as archive:
        weights = hashlib.sha256(archive.read("model.weights.h5")).hexdigest()
    with open(os.path.join(folder, "log.csv"), "rb") as log:
        figures = hashlib.sha256(log.read()).hexdigest()
    return weights, figures, re.search(r"test loss .*", output).group()


def uninterrupted(line):
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        result = subprocess.run(command(line, folder), capture_output=True, text=True)
        if result.returncode:
            sys.exit(result.stderr)
        if os.path.exists(os.path.join(folder, "state")):
            sys.exit(f"{line} left a state after a run that ended well")
        return outcome(folder, result.stdout), time.monotonic() - start


def wait_for_moment(process, seconds, state, is_aimed):
    """Returns after so many seconds or, if `is_aimed`, at the next write of a state after that; or
    when the process has ended."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        before = being_written(state)  # by a killed process
        while is_aimed and process.poll() is None and not being_written(state) - before:
            time.sleep(0.0005)


def killed(line, seconds, chance, count):
    """The outcome of a run that is killed up to MOST_KILLS times."""
    with tempfile.TemporaryDirectory() as folder:
        state = os.path.join(folder, "state")
        for kills in range(MOST_KILLS + 1):
            before = being_written(state)
            process = subprocess.Popen(command(line, folder), stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
            kind = None
            if kills < MOST_KILLS:
                wait_for_moment(process, chance.uniform(0, seconds), state, kills % 2 == 1)
                if process.poll() is None:
                    kind = chance.choice(SIGNALS)
                    process.send_signal(kind)
            output, errors = process.communicate()
            count["went on"] += "Training resumes" in errors
            count["ended within a write"] += bool(being_written(state) - before)
            if kind and process.returncode in (-kind, KEPT.get(kind)):
                continue
            if process.returncode:
                sys.exit(f"{line} ended with {process.returncode}: {errors}")
            return outcome(folder, output)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--runs", type=int, default=8, help="of each program")
    parser.add_argument("--seed", type=int, default=random.randrange(2**31))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}")
    chance = random.Random(arguments.seed)
    count = collections.Counter()
    for program in arguments.programs:
        undisturbed = {}
        for run in range(arguments.runs):
            line = [program, *LINES[run % len(LINES)]]
            key = " ".join(line)
            if key not in undisturbed:
                undisturbed[key] = uninterrupted(line)
            expected, seconds = undisturbed[key]
            got = killed(line, seconds, chance, count)
            if got != expected:
                sys.exit(f"{key}, run {run}: expected {expected}, got {got}")
    print(f"{arguments.runs * len(arguments.programs)} runs: the same bits as without a kill. "
          + ", ".join(f"{what}: {times} times" for what, times in sorted(count.items())))


if __name__ == "__main__":
    main()
