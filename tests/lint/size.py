# SPDX-License-Identifier: Apache-2.0
"""No source file over 600 lines, no function over 80 lines: anything longer should be split."""

import re
from pathlib import Path
from typing import Iterator

from sources import CPP, Finding, blank, files, read

FILE_LINES = 600
FUNCTION_LINES = 80

_SCOPE = re.compile(r"\b(?:namespace|class|struct|union|enum)\b|\bextern\b[^@]*$")
_NAME = re.compile(r"(operator\W+|[\w:~]+)\s*\(")


def _plain(head: str) -> str:
    """Returns `head` without the contents of <...>, and with @ for each (...)."""
    while True:
        shorter = re.sub(r"<[^<>]*>", "", re.sub(r"\([^()]*\)", "@", head))
        if shorter == head:
            return head
        head = shorter


def _starts_body(plain: str) -> bool:
    """Returns whether the "{" after `plain` (the text since the last statement) opens a function
    body."""
    if "@" not in plain or _SCOPE.search(plain):
        return False
    if re.search(r"=\s*[\w:]*\s*$", plain):  # int x[] = {   or   auto x = T {
        return False
    # A constructor's   : a_(1), b_{   opens a member, not the body.
    return not re.search(r"(?:(?<!:):(?!:)|,)\s*[\w:]+\s*$", plain)


def _closing(code: str, opening: int) -> int:
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, opening):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return match.start()
    return len(code)


def functions(code: str) -> Iterator[tuple[str, int, int]]:
    """Yields (name, first line, number of lines from "{" to "}") of each function in C++ code."""
    code = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: re.sub(r"[^\n]", " ", m.group()),
                  blank(code), flags=re.MULTILINE)
    head_start = at = 0
    boundary = re.compile(r"[{};]|\b(?:public|protected|private):")
    while match := boundary.search(code, at):
        at = match.end()
        if match.group() != "{":
            # The semicolons of   for (;;)   are within a body, which is skipped as a whole.
            head_start = at
            continue
        head = code[head_start:match.start()]
        plain = _plain(head)
        if _starts_body(plain):
            end = _closing(code, match.start())
            named = _NAME.search(head)
            name = named.group(1) if named else "?"
            first = code.count("\n", 0, match.start()) + 1
            yield name, first, code.count("\n", match.start(), end) + 1
            at = head_start = end + 1
        elif _SCOPE.search(plain) and "=" not in plain:
            head_start = at  # the contents of a class or namespace are examined
        else:
            # An initializer; if it is a constructor's, the body may still follow.
            at = _closing(code, match.start()) + 1
            inside = re.sub(r"[^\n]", " ", code[match.start() + 1:at - 1])
            code = f"{code[:match.start()]}({inside}){code[at:]}"


def check(root: Path) -> Iterator[Finding]:
    for path in files(root):
        code = read(root, path)
        lines = code.count("\n")
        if lines > FILE_LINES:
            yield Finding(path, 1, f"{lines} lines: a file has at most {FILE_LINES}")
        if path.suffix not in CPP:
            continue
        for name, line, length in functions(code):
            if length > FUNCTION_LINES:
                yield Finding(path, line, f"{name} has {length} lines: a function has at most "
                                          f"{FUNCTION_LINES}")
