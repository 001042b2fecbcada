# SPDX-License-Identifier: Apache-2.0
"""The files that the checks read, and the format of findings."""

import os
import re
from pathlib import Path
from typing import Iterator, NamedTuple

CPP = {".h", ".cc", ".cu", ".cuh"}
CODE = CPP | {".py", ".sh", ".cmake", ".in", ".proto"}
CODE_NAMES = {"CMakeLists.txt", "run", "with_venv", ".clang-format"}
TOP = ["framework", "layers", "optimizers", "data", "distribute", "applications", "apps", "tests",
       "benchmarks", "cmake", "docs", ".ci"]


class Finding(NamedTuple):
    file: Path  # relative to the root
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


def files(root: Path) -> Iterator[Path]:
    """Returns our own source files below `root`, relative to it. Golden data doesn't count as
    source."""
    found = [Path(name) for name in sorted(CODE_NAMES) if (root / name).is_file()]
    for top in TOP:
        for folder, folders, names in os.walk(root / top):
            here = Path(folder).relative_to(root)
            folders[:] = sorted(f for f in folders if f not in ("__pycache__", "testdata")
                                and here / f != Path("tests/golden/data"))
            found += [here / name for name in sorted(names)]
    for path in found:
        if path.suffix in CODE or path.name in CODE_NAMES:
            yield path


def read(root: Path, path: Path) -> str:
    return (root / path).read_text(encoding="utf-8")


_TOKEN = re.compile(
    r"""//(?:\\\n|[^\n])*|/\*.*?\*/"""
    r"""|R"(?P<tag>[^()\\\s]*)\(.*?\)(?P=tag)\""""
    r"""|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'""",
    re.DOTALL | re.VERBOSE)


def blank(code: str) -> str:
    """Returns C++ code with comments, strings and characters blanked; offsets and lines don't
    change."""
    return _TOKEN.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), code)
