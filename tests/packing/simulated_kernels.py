#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles every kernel that the tests launch on simulated GPUs with the CUDA compiler.

    simulated_kernels.py BUILD CAPABILITY...

runs the tests of the folder BUILD that are named *_on_simulated_gpu, keeps the texts of their
kernels, and compiles them for GPUs of each CAPABILITY (8.0 9.0 10.0). The results are kept in
$CORNU_CUDA_CACHE."""
import concurrent.futures
import os
import subprocess
import sys
import tempfile

from ctest_tests import tests_of


def run(test, folder):
    environment = {**os.environ, **test.environment, "CORNU_KERNEL_TEXTS": folder}
    done = subprocess.run(test.command, env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    print(f"{test.name}: {'passed' if done.returncode == 0 else done.stdout[-2000:]}", flush=True)
    return done.returncode == 0


def note_texts(build, folder):
    """Runs the tests and keeps their kernels' texts; returns whether all tests passed."""
    tests = tests_of(build, "-R", "_on_simulated_gpu$|^backend_cuda_kernels$")
    if not tests:
        sys.exit(f"{build} has no tests on simulated GPUs.")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return all(list(pool.map(lambda test: run(test, folder), tests)))


def main(build, *capabilities):
    compiler = os.path.join(build, "bin", "compile_kernels")
    if not os.path.exists(compiler):
        print("skipped: CUDA was not found when Cornu was configured")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        passed = note_texts(build, folder)
        compiled = subprocess.run([compiler, folder, *capabilities], check=False)
    return 0 if passed and compiled.returncode == 0 else 1


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
