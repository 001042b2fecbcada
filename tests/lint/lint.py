# SPDX-License-Identifier: Apache-2.0
"""Runs the source checks: lint.py [--root DIR] [CHECK ...]; without a name, all of them."""

import argparse
import sys
from pathlib import Path

import layering
import size
import snippets
import text

CHECKS = {"layering": layering.check, "size": size.check,
          "snippets": snippets.check, "text": text.check}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("checks", nargs="*", metavar="CHECK",
                        help=f"one of {', '.join(CHECKS)} (default: all)")
    args = parser.parse_args()
    unknown = [name for name in args.checks if name not in CHECKS]
    if unknown:
        parser.error(f"no check {unknown[0]}; there are {', '.join(CHECKS)}")
    findings = [f for name in args.checks or CHECKS for f in CHECKS[name](args.root)]
    for finding in findings:
        print(finding)
    if findings:
        print(f"{len(findings)} findings", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
