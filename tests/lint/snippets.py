# SPDX-License-Identifier: Apache-2.0
"""Every ```cpp block of docs/adding/*.md stands, word for word, in a file of tests/docs."""

import re
from pathlib import Path
from typing import Iterator

from sources import CPP, Finding, read

_BLOCK = re.compile(r"^```cpp\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def check(root: Path) -> Iterator[Finding]:
    # By whole lines: a block may not begin or end within one.
    examples = ["\n" + read(root, path.relative_to(root))
                for path in sorted((root / "tests/docs").glob("*")) if path.suffix in CPP]
    for path in sorted((root / "docs/adding").glob("*.md")):
        page = path.relative_to(root)
        text = read(root, page)
        for match in _BLOCK.finditer(text):
            if not any("\n" + match.group(1) in example for example in examples):
                line = text.count("\n", 0, match.start(1)) + 1
                yield Finding(page, line, "this code stands in no file of tests/docs: quote one, "
                                          "so that it is compiled")
