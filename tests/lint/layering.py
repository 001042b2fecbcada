# SPDX-License-Identifier: Apache-2.0
"""Which folders may include which; see docs/architecture.md. A folder may always include itself."""

import re
from pathlib import Path, PurePosixPath
from typing import Iterator, Optional

from sources import CPP, Finding, files, read

_CHAIN = ["train", "callbacks", "metrics", "losses", "saving", "model", "strategy", "autodiff", "ops",
          "graph", "io", "core"]
FRAMEWORK = set(_CHAIN)
LIBRARY = ["layers", "optimizers", "data", "distribute"]

# From each folder of the library, the folders its files may include.
ALLOWED = {name: set(_CHAIN[i + 1:]) for i, name in enumerate(_CHAIN)}
ALLOWED["backends"] = {"graph", "core"}
ALLOWED.update({name: set(FRAMEWORK) for name in LIBRARY})
ALLOWED["applications"] = {"layers"} | FRAMEWORK
# The parts that put the library together.
ALLOWED["registration"] = {*LIBRARY} | FRAMEWORK
ALLOWED["include"] = {"applications", *LIBRARY} | FRAMEWORK
INSIDE = {"backends", "registration", "include"} | FRAMEWORK  # the folders of framework/

# Folders that may include everything, even <cornu/cornu.h>.
FREE = {"apps", "tests", "benchmarks", "docs"}

# Headers that increase users' compile time: none of them may be reachable from cornu.h.
HEAVY = re.compile(r"dnnl|hdf5\.h|H5|nlohmann/|grpc|google/protobuf|Eigen/|zip\.h|curl/|spdlog/|jpeglib\.h|png\.h|gif_lib|cuda|cublas|cudnn|nvrtc|nccl")

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)


def _folder(path: Path) -> Optional[str]:
    """Returns the layer a file belongs to, or None if it belongs to none."""
    parts = path.parts
    if parts[0] == "framework":
        return parts[1] if len(parts) > 2 else None
    return parts[0] if parts[0] in ALLOWED or parts[0] in FREE else None


def _includes(code: str) -> Iterator[tuple[int, str, str]]:
    for match in _INCLUDE.finditer(code):
        yield code.count("\n", 0, match.start()) + 1, match.group(1), match.group(2)


def _edge(root: Path, path: Path, source: str, include: str) -> Optional[str]:
    """Returns what is wrong with `path`, in layer `source`, including a quoted file, or None."""
    target = _folder(Path(include))
    known = INSIDE if include.startswith("framework/") else {*LIBRARY, "applications"} | FREE
    if ".." in include or target not in known:
        return (f'includes "{include}": the path in an include is read from the root of the tree; '
                "headers of others are included in angle brackets")
    if not (root / include).is_file():
        return f'includes "{include}": there is no such file'
    if source in FREE:
        return None
    if source == target == "backends":
        ours, theirs = path.parts[2], PurePosixPath(include).parts[2]
        # Code that is loaded for a backend ("cuda_runtime") knows its interface.
        if len(path.parts) > 3 and ours not in (theirs, f"{theirs}_runtime"):
            return f"includes {include}: a backend may not include another"
        return None
    if target != source and target not in ALLOWED[source]:
        return (f"includes {include}: {source} may include only "
                f"{', '.join(sorted(ALLOWED[source])) or 'itself'}")
    return None


def _heavy(root: Path) -> Iterator[Finding]:
    """Finds heavy headers that are reachable from cornu.h."""
    start = Path("framework/include/cornu/cornu.h")
    todo, seen = [start], {start}
    while todo:
        path = todo.pop()
        if not (root / path).is_file():
            continue
        for line, quote, include in _includes(read(root, path)):
            if HEAVY.match(include):
                yield Finding(path, line, f"includes {include}, and cornu.h reaches this file: "
                                          "keep it out of public headers")
            if quote == '"':
                header = Path(include)
                if header not in seen:
                    seen.add(header)
                    todo.append(header)


def check(root: Path) -> Iterator[Finding]:
    for path in files(root):
        source = _folder(path)
        if source is None or path.suffix not in CPP:
            continue
        for line, quote, include in _includes(read(root, path)):
            if quote == '"':
                wrong = _edge(root, path, source, include)
            elif include.startswith("cornu/") and source not in FREE:
                wrong = f"includes <{include}>: that is for programs"
            else:
                wrong = None
            if wrong:
                yield Finding(path, line, wrong)
    yield from _heavy(root)
