# SPDX-License-Identifier: Apache-2.0
"""Runs the guides' Python programs with real Keras and records their results.

Usage: python tests/guides/make_goldens.py

Writes tests/golden/data/guides.json, which the C++ programs of this folder must reproduce. The
environment is that of tests/golden/README.md.
"""

import importlib
import pathlib

import guide  # comes first: adds the golden values' folder to sys.path
import common

HERE = pathlib.Path(__file__).resolve().parent
NO_GUIDES = ("guide", "make_goldens")


def main():
    cases = []
    for path in sorted(HERE.glob("*.py")):
        if path.stem in NO_GUIDES:
            continue
        for case in importlib.import_module(path.stem).CASES:
            common.start(case.__name__)
            print(path.stem, case.__name__, flush=True)
            cases.append({"name": case.__name__} | case())
    path = common.write_group("guides", cases)
    print(f"{len(cases)} cases, {path.stat().st_size / 1024:.1f} KiB")


if __name__ == "__main__":
    main()
