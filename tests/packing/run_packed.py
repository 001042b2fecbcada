#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs tests packed by pack.py: run [-v] [NAME...]. A NAME is a part of tests' names.

With -v, the output of all tests is shown, otherwise only that of tests that fail or are skipped;
the exit status is 77 when all tests were skipped. CUDA's libraries are looked up where the system
looks, in $LD_LIBRARY_PATH, or among python3's packages (nvidia-cudnn-cu13 and the like).
`run --environment` prints, for a shell, the environment that the programs need: then
benchmarks/compare.py --device GPU:0 runs with CORNU_BUILD_DIR set to this folder."""
import glob
import json
import os
import shlex
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.realpath(__file__))
CACHE = os.path.join(ROOT, "cuda_cache")
SKIPPED = 77
OPTIONS = {"-v", "--environment", "-h", "--help"}


def packages_folders():
    """Returns the folders of python3's packages that contain NVIDIA's libraries."""
    found = []
    for path in sys.path:
        found += sorted(glob.glob(os.path.join(path, "nvidia", "*", "lib")))
    return found


def environment():
    own = [os.path.join(ROOT, "lib"), *filter(None, [os.environ.get("LD_LIBRARY_PATH")]),
           *packages_folders()]
    result = {"LD_LIBRARY_PATH": ":".join(own)}
    if os.path.isdir(CACHE) and os.listdir(CACHE):
        result["CORNU_CUDA_CACHE"] = CACHE
    return result


def filled_in(text):
    return text.replace("{root}", ROOT)


def run(test, verbose):
    """Returns "passed", "skipped" or what went wrong."""
    own = {name: filled_in(value) for name, value in test["environment"].items()}
    command = [filled_in(word) for word in test["command"]]
    try:
        done = subprocess.run(command, env={**os.environ, **environment(), **own}, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, errors="replace", timeout=test["timeout"])
    except subprocess.TimeoutExpired as expired:
        output = (expired.stdout or b"").decode(errors="replace")
        result = f"FAILED: not done in {test['timeout']:.0f} s"
    else:
        output = done.stdout
        result = {0: "passed", SKIPPED: "skipped"}.get(done.returncode,
                                                       f"FAILED: code {done.returncode}")
    if verbose or result != "passed":
        print(output, end="")
    return result


def main(arguments):
    if unknown := [word for word in arguments if word.startswith("-") and word not in OPTIONS]:
        print(f"{unknown[0]}: there is no such option; see --help", file=sys.stderr)
        return 2
    if {"-h", "--help"} & set(arguments):
        print(__doc__)
        return 0
    if "--environment" in arguments:
        for name, value in environment().items():
            print(f"export {name}={shlex.quote(value)}")
        return 0
    verbose = "-v" in arguments
    names = [word for word in arguments if not word.startswith("-")]
    with open(os.path.join(ROOT, "tests.json"), encoding="utf-8") as file:
        tests = [test for test in json.load(file)
                 if not names or any(name in test["name"] for name in names)]
    failed, skipped = [], 0
    for test in tests:
        start = time.monotonic()
        result = run(test, verbose)
        print(f"{test['name']}: {result} ({time.monotonic() - start:.1f} s)", flush=True)
        skipped += result == "skipped"
        if result.startswith("FAILED"):
            failed.append(test["name"])
    print(f"of {len(tests)} tests {len(tests) - len(failed) - skipped} passed, {skipped} were "
          "skipped" + (f", and failed: {', '.join(failed)}" if failed else ""))
    if failed or not tests:
        return 1
    return SKIPPED if skipped == len(tests) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
