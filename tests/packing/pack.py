#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs tests for a machine that can't build them, like many machines with GPUs.

    pack.py BUILD LABEL FILE.tar.xz [CAPABILITY...]

takes the programs of the tests with the LABEL, bench_steps, the libraries that they are linked
with (except the C library and CUDA's), and the tests' data. For GPUs of each CAPABILITY (9.0) it
also compiles the kernels that the tests launch, so that nobody waits for them there. There:

    tar xf FILE.tar.xz && cornu-tests/run

The other machine needs a processor of this one's kind (x86-64, or 64-bit ARM), Linux with a C
library at least as new as this one's, xz, and Python 3."""
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

import simulated_kernels
from ctest_tests import tests_of

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "cornu-tests"
# Parts of the C library, which the machine provides.
OF_THE_MACHINE = re.compile(r"^(ld-linux|lib(c|m|dl|rt|pthread|resolv|util|anl)\.so)")
# What makes a processor's instructions compress better.
FILTER = {"x86_64": "--x86", "aarch64": "--arm64"}.get(platform.machine(), "")
TAR = ["tar", "--create", "--owner=0", "--group=0", "-I",
       f"xz -T1 {FILTER} --lzma2=preset=9,dict=256MiB"]


def libraries_of(programs):
    """Returns the files that the programs are linked with, by name."""
    found = {}
    for program in programs:
        listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
        if missing := re.search(r"(\S+) => not found", listed):
            sys.exit(f"{program} isn't complete: there is no {missing[1]}.")
        for name, path in re.findall(r"^\s*(\S+) => (/\S+)", listed, re.MULTILINE):
            if not OF_THE_MACHINE.match(name):
                found[name] = path
    return found


def strip(source, target):
    subprocess.run(["strip", "-o", target, source], check=True)


def packed_tests(tests, root):
    """Returns what the script `run` needs to know about the tests; copies their data."""
    result = []
    for test in tests:
        environment = {}
        for name, value in test.environment.items():
            if name == "CORNU_TEST_DATA":
                shutil.copytree(value, os.path.join(root, "data"), dirs_exist_ok=True)
                value = "{root}/data"
            if not os.path.isabs(value):  # otherwise, it doesn't exist on the other machine
                environment[name] = value
        program, *arguments = test.command
        result.append({"name": test.name, "timeout": test.timeout, "environment": environment,
                       "command": ["{root}/bin/" + os.path.basename(program), *arguments]})
    return result


def fill(root, build, label, capabilities):
    for folder in ("bin", "lib", "cuda_cache"):
        os.makedirs(os.path.join(root, folder))
    tests = [test for test in tests_of(build, "-L", f"^{label}$")
             if os.path.dirname(test.command[0]) == os.path.join(build, "bin")]
    if not tests:
        sys.exit(f"No test with the label {label} is a program of {build}.")
    programs = sorted({test.command[0] for test in tests})
    bench = os.path.join(build, "bin", "bench_steps")
    programs += [bench] if os.path.exists(bench) else []
    for program in programs:
        strip(program, os.path.join(root, "bin", os.path.basename(program)))
    cuda = os.path.join(build, "lib", "libcornu_cuda.so")
    if os.path.exists(cuda):
        programs.append(cuda)
        strip(cuda, os.path.join(root, "lib", os.path.basename(cuda)))
    for name, path in libraries_of(programs).items():
        shutil.copyfile(path, os.path.join(root, "lib", name))
    if capabilities:
        os.environ["CORNU_CUDA_CACHE"] = os.path.join(root, "cuda_cache")
        if simulated_kernels.main(build, *capabilities) != 0:
            sys.exit("Nothing is packed, since kernels couldn't be compiled.")
    with open(os.path.join(root, "tests.json"), "w", encoding="utf-8") as file:
        json.dump(packed_tests(tests, root), file, indent=1)
    shutil.copyfile(os.path.join(HERE, "run_packed.py"), os.path.join(root, "run"))
    os.chmod(os.path.join(root, "run"), 0o755)
    return len(tests)


def main(build, label, target, *capabilities):
    for tool in ("ctest", "ldd", "strip", "tar", "xz"):
        if shutil.which(tool) is None:
            sys.exit(f"{tool} is missing: install it.")
    build, target = os.path.abspath(build), os.path.abspath(target)
    with tempfile.TemporaryDirectory() as folder:
        count = fill(os.path.join(folder, NAME), build, label, capabilities)
        part = target + ".part"
        subprocess.run([*TAR, "--file", part, "-C", folder, NAME], check=True)
        os.replace(part, target)
    print(f"{count} tests, {os.path.getsize(target) / 2**20:.0f} MiB: {target}")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
