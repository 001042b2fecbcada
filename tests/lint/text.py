# SPDX-License-Identifier: Apache-2.0
"""License line, #pragma once, TODOs with a reason, no tabs, no trailing whitespace, no kinds of
characters that follow the program's locale."""

import re
from pathlib import Path
from typing import Iterator

from sources import CPP, Finding, blank, files, read

LICENCE = "// SPDX-License-Identifier: Apache-2.0"

# A reason: at least three words, as in   TODO: wait for oneDNN 3's int8 path
_TODO = re.compile(r"\b(?:TODO|FIXME|XXX)\b(?!\s*(?:\([^)]*\))?:?\s*\w\S*\s+\S+\s+\S+)")
_LINT = Path("tests/lint")
_FOLLOWS_LOCALE = re.compile(
    r"\b(?:is(?:alnum|alpha|digit|lower|space|upper)|to(?:lower|upper))\(")


def check(root: Path) -> Iterator[Finding]:
    for path in files(root):
        code = read(root, path)
        lines = code.split("\n")
        if path.suffix in CPP:
            if lines[0] != LICENCE:
                yield Finding(path, 1, f"the first line must be: {LICENCE}")
            if path.suffix in (".h", ".cuh") and "#pragma once" not in lines:
                yield Finding(path, 1, "a header must have a line: #pragma once")
            for number, line in enumerate(blank(code).split("\n"), 1):
                if _FOLLOWS_LOCALE.search(line):
                    yield Finding(path, number, "this depends on the program's locale: use "
                                                "framework/core/ascii.h")
        if code and not code.endswith("\n"):
            yield Finding(path, len(lines), "no newline at the end of the file")
        for number, line in enumerate(lines, 1):
            if "\t" in line:
                yield Finding(path, number, "tab")
            if line != line.rstrip():
                yield Finding(path, number, "whitespace at the end of the line")
            if path.parent != _LINT and _TODO.search(line):
                yield Finding(path, number, "TODO without a reason: say in a sentence what is "
                                            "missing and why")
