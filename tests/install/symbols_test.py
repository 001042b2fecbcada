# SPDX-License-Identifier: Apache-2.0
"""The library has no templates that a program may instantiate as well, compiled in another way.

Usage: symbols_test.py ARCHIVE

A linker keeps one of several weak symbols of a name. Eigen's depend on compiler options: with
-march=native, a program's matrices are aligned otherwise, and allocated by other functions.
"""

import subprocess
import sys

FOREIGN = ("Eigen::",)

names = subprocess.run(["nm", "-C", "--defined-only", sys.argv[1]], check=True, text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
symbols = [line.split(None, 2)[-1] for line in names.splitlines() if len(line.split(None, 2)) == 3]
if not any(symbol.startswith("cornu::") for symbol in symbols):
    sys.exit(f"{sys.argv[1]}: expected symbols of Cornu, got none")
found = sorted({symbol for symbol in symbols if symbol.startswith(FOREIGN)})
if found:
    sys.exit(f"{len(found)} symbols that programs may have, too, such as {found[0]}")
