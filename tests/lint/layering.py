# SPDX-License-Identifier: Apache-2.0
"""Who may include whom. See docs/architecture.md; a folder may always include itself."""

import re
from pathlib import Path, PurePosixPath
from typing import Iterator, Optional

from sources import CPP, Finding, files, read

_CHAIN = ["train", "saving", "model", "strategy", "autodiff", "ops", "graph", "core"]
FRAMEWORK = set(_CHAIN)
LIBRARY = ["layers", "optimizers", "data", "distribute"]

# From each folder of the library, the folders its files may include.
ALLOWED = {name: set(_CHAIN[i + 1:]) for i, name in enumerate(_CHAIN)}
ALLOWED["backends"] = {"graph", "core"}
ALLOWED.update({name: set(FRAMEWORK) for name in LIBRARY})
ALLOWED["applications"] = {"layers"} | FRAMEWORK
# Headers of no folder, and what puts the library together: the files directly in framework/.
SINGLE = {"cornu.h", "eigen.h"}
ALLOWED["framework"] = SINGLE | {"backends", "applications", *LIBRARY} | FRAMEWORK

# Everything, cornu.h too.
FREE = {"apps", "tests", "benchmarks", "docs"}

# Headers that cost users compile time: none of them may be reached from cornu.h.
HEAVY = re.compile(r"dnnl|hdf5\.h|H5|nlohmann/|grpc|google/protobuf|Eigen/|zip\.h|curl/|spdlog/")

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)


def _folder(path: Path) -> Optional[str]:
    """The layer a file belongs to; None: no layer."""
    parts = path.parts
    if parts[0] != "framework":
        return parts[0] if parts[0] in ALLOWED or parts[0] in FREE else None
    return parts[1] if len(parts) > 2 else "framework"


def _includes(code: str) -> Iterator[tuple[int, str, str]]:
    for match in _INCLUDE.finditer(code):
        yield code.count("\n", 0, match.start()) + 1, match.group(1), match.group(2)


def _path_of(include: str) -> Path:
    """Where the header "cornu/x/y.h" lies in the tree."""
    parts = PurePosixPath(include).parts[1:]
    inside = len(parts) == 1 or parts[0] in FRAMEWORK or parts[0] == "backends"
    return Path(*(("framework",) if inside else ()), *parts)


def _edge(path: Path, source: str, include: str) -> Optional[str]:
    """What is wrong with `path`, of the layer `source`, including "cornu/..."; None: nothing."""
    parts = PurePosixPath(include).parts
    target = parts[1]
    if target not in SINGLE and target not in ALLOWED:
        return f"includes {include}: there is no folder {target}"
    if source in FREE:
        return None
    if source == target == "backends":
        if len(path.parts) > 3 and len(parts) > 3 and path.parts[2] != parts[2]:
            return f"includes {include}: a backend may not include another"
        return None
    if target != source and target not in ALLOWED[source]:
        return (f"includes {include}: {source} may include only "
                f"{', '.join(sorted(ALLOWED[source])) or 'itself'}")
    return None


def _heavy(root: Path) -> Iterator[Finding]:
    """Heavy headers reached from cornu.h."""
    start = Path("framework/cornu.h")
    todo, seen = [start], {start}
    while todo:
        path = todo.pop()
        if not (root / path).is_file():
            continue
        for line, _, include in _includes(read(root, path)):
            if HEAVY.match(include):
                yield Finding(path, line, f"includes {include}, and cornu.h reaches this file: "
                                          "keep it out of public headers")
            if include.startswith("cornu/"):
                header = _path_of(include)
                if header not in seen:
                    seen.add(header)
                    todo.append(header)


def check(root: Path) -> Iterator[Finding]:
    for path in files(root):
        source = _folder(path)
        if source is None or path.suffix not in CPP:
            continue
        for line, quote, include in _includes(read(root, path)):
            if include.startswith("cornu/"):
                wrong = _edge(path, source, include)
                if wrong:
                    yield Finding(path, line, wrong)
            elif quote == '"' and (source not in FREE or
                                   include.split("/")[0] in ALLOWED):
                yield Finding(path, line, f'includes "{include}": our headers are included as '
                                          '"cornu/...", others in angle brackets')
    yield from _heavy(root)
