# SPDX-License-Identifier: Apache-2.0
"""Every code block of these pages is, word for word, part of a file that is compiled or run."""

import re
from pathlib import Path
from typing import Iterator, NamedTuple

from sources import CPP, Finding, read


class Kind(NamedTuple):
    pages: str  # a glob
    language: str
    folders: tuple[str, ...]  # the files that are quoted
    suffixes: set[str]


KINDS = [
    Kind("README.md", "cpp", ("tests/docs",), CPP),
    Kind("docs/adding/*.md", "cpp", ("tests/docs", "layers/normalization", "tests/layers"), CPP),
    Kind("docs/checkpoints.md", "cpp", ("tests/docs",), CPP),
    Kind("docs/clusters.md", "cpp", ("tests/docs",), CPP),
    Kind("docs/from_keras.md", "cpp", ("tests/guides",), CPP),
    Kind("docs/from_keras.md", "python", ("tests/guides",), {".py"}),
    Kind("docs/gpu.md", "cpp", ("tests/docs",), CPP),
    Kind("docs/parameter_servers.md", "cpp", ("tests/integration/programs",), CPP),
    Kind("docs/tpu.md", "cpp", ("tests/docs",), CPP),
]


def _indented(code: str, spaces: int) -> str:
    return re.sub(r"^(?=.)", " " * spaces, code, flags=re.MULTILINE)


def _quotes(block: str, examples: list[str]) -> bool:
    """Compares whole lines; a page may remove their common indentation."""
    return any("\n" + _indented(block, spaces) in example
               for spaces in range(0, 13, 2) for example in examples)


def check(root: Path) -> Iterator[Finding]:
    for kind in KINDS:
        blocks = re.compile(rf"^```{kind.language}\n(.*?)^```$", re.DOTALL | re.MULTILINE)
        examples = ["\n" + read(root, path.relative_to(root))
                    for folder in kind.folders for path in sorted((root / folder).glob("*"))
                    if path.suffix in kind.suffixes]
        for path in sorted(root.glob(kind.pages)):
            page = path.relative_to(root)
            text = read(root, page)
            for match in blocks.finditer(text):
                if not _quotes(match.group(1), examples):
                    line = text.count("\n", 0, match.start(1)) + 1
                    yield Finding(page, line, f"this code stands in no file of "
                                              f"{', '.join(kind.folders)}: quote one, so that it "
                                              "is tested")
