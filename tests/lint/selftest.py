# SPDX-License-Identifier: Apache-2.0
"""Each check finds its mistakes in an artificial bad tree, and nothing in a good one."""

import tempfile
import unittest
from pathlib import Path

import layering
import size
import snippets
import text

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"


def header(*includes: str) -> str:
    return SPDX + "#pragma once\n" + "".join(f'#include "{name}"\n' for name in includes)


def body(lines: int) -> str:
    return "{\n" + "  f();\n" * (lines - 2) + "}\n"


class LintTest(unittest.TestCase):
    def findings(self, check, tree: dict[str, str]) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, content in tree.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(content)
            return [str(f) for f in check(root)]

    def expect(self, check, tree: dict[str, str], *parts: str) -> None:
        """Expects one finding for each of `parts`, which contains that part."""
        found = self.findings(check, tree)
        self.assertEqual(len(found), len(parts), found)
        for finding, part in zip(found, parts):
            self.assertIn(part, finding)


class Layering(LintTest):
    def include(self, source: str, target: str, *parts: str) -> None:
        tree = {target: SPDX + "#pragma once\n", source: header(target)}
        self.expect(layering.check, tree, *parts)

    def test_allowed(self):
        cpu = "framework/backends/cpu"
        for source, target in [
                ("framework/train/a.h", "framework/core/a.h"),
                ("framework/saving/a.h", "framework/ops/a.h"),
                (f"{cpu}/a.h", "framework/graph/passes/a.h"), (f"{cpu}/a.h", f"{cpu}/b.h"),
                ("framework/backends/cuda_runtime/a.h", "framework/backends/cuda/a.h"),
                ("layers/conv/a.h", "layers/core/a.h"), ("data/a.h", "framework/strategy/a.h"),
                ("applications/a.h", "layers/a.h"),
                ("framework/registration/a.cc", "layers/a.h"),
                ("framework/include/cornu/cornu.h", "data/a.h"),
                ("tests/core/a.cc", f"{cpu}/a.h"), ("tests/core/a.cc", "tests/support/a.h")]:
            with self.subTest(source=source, target=target):
                self.include(source, target)

    def test_forbidden(self):
        folder = {name: f"framework/{name}" for name in layering.INSIDE}
        folder.update({name: name for name in [*layering.LIBRARY, "applications"]})
        chain = ["train", "callbacks", "metrics", "losses", "saving", "model", "strategy",
                 "autodiff", "ops", "graph", "io", "core"]
        pairs = [(low, high) for i, high in enumerate(chain) for low in chain[i + 1:]]
        pairs += [(a, b) for a in layering.LIBRARY
                  for b in [*layering.LIBRARY, "backends", "include"] if a != b]
        pairs += [("backends", "ops"), ("train", "backends"), ("train", "layers"),
                  ("applications", "data"), ("layers", "applications"),
                  ("registration", "backends"), ("include", "backends")]
        files = [(f"{folder[a]}/a.h", f"{folder[b]}/a.h") for a, b in pairs]
        files += [("framework/backends/cpu/a.h", "framework/backends/cuda/a.h"),
                  ("framework/backends/cuda/a.h", "framework/backends/cuda_runtime/a.h")]
        for source, target in files:
            with self.subTest(source=source, target=target):
                self.include(source, target, f"{source}:3: includes {target}")

    def test_spelling(self):
        for source, target in [("layers/a.cc", "a.h"), ("framework/core/a.cc", "core/a.h"),
                               ("framework/core/a.cc", "cornu/core/a.h"),
                               ("framework/core/a.cc", "../core/a.h")]:
            with self.subTest(source=source, target=target):
                self.expect(layering.check, {source: header(target)}, "read from the root")
        self.expect(layering.check, {"layers/a.cc": header("layers/b.h")}, "no such file")
        public = SPDX + "#include <cornu/cornu.h>\n"
        self.expect(layering.check, {"apps/m/a.cc": public})
        self.expect(layering.check, {"layers/a.cc": public}, "that is for programs")

    def test_heavy_header_in_public_header(self):
        tree = {"framework/include/cornu/cornu.h": header("framework/core/a.h"),
                "framework/core/a.h": header("framework/core/b.h"),
                "framework/core/b.h": SPDX + "#pragma once\n#include <dnnl.hpp>\n",
                "framework/core/c.h": SPDX + "#pragma once\n#include <dnnl.hpp>\n"}
        self.expect(layering.check, tree, "framework/core/b.h:3: includes dnnl.hpp")


class Size(LintTest):
    def test_file(self):
        self.expect(size.check, {"layers/a.cc": "\n" * 600, "apps/x/a.py": "\n" * 600,
                                 "tests/golden/data/a.h": "\n" * 900})
        self.expect(size.check, {"layers/a.cc": "\n" * 601}, "layers/a.cc:1: 601 lines")

    def test_function(self):
        heads = ["int f(int a = 1, std::vector<int> b = {})", "void A::b() const noexcept",
                 "template <class T>\nauto f(T t) -> decltype(t)", "A::A() : a_(1), b_{2}, c_{{3}}",
                 "A::A(int a)\n    : B(a),\n      a_{[] { return 1; }()}", "TEST_CASE(\"a { b\")",
                 "A& operator=(const A& a)", "int f(struct stat s)", "bool operator()(int a) const",
                 "template <typename T, typename = std::enable_if_t<(sizeof(T) > 1)>> void f()",
                 "static void f(void (*g)(int), std::span<const int> s) requires(kOne)"]
        for head in heads:
            for wrap in ["{}", "namespace a {{\n{}}}\n", "class A : public B<C(int)> {{\n public:\n  "
                         "int a = f();\n{} int z_{{1}};\n}};\n"]:
                with self.subTest(head=head, wrap=wrap):
                    good = wrap.format(f"{head} {body(80)}")
                    bad = wrap.format(f"int x[] = {{1, 2}};\n{head} {body(81)}int y;\n")
                    self.expect(size.check, {"layers/a.cc": good})
                    self.expect(size.check, {"layers/a.cc": bad}, "81 lines")

    def test_name_and_line(self):
        code = f"namespace a {{\nint b = 1'000;  // }} {{\nint A::c(int d)\n{body(90)}}}\n"
        self.expect(size.check, {"layers/a.cc": code}, "layers/a.cc:4: A::c has 90 lines")

    def test_what_is_no_function(self):
        numbers = "{\n" + "  {1, f(2)},\n" * 100 + "}"
        for code in [f"const Row kTable[] = {numbers};\n", f"std::vector<Row> t = make{numbers};\n",
                     f"struct A {numbers};\n", f"enum class A {{\n{'  kB,' * 9}\n}};\n",
                     "namespace a {\n" + "int f();\n" * 100 + "}\n",
                     "extern \"C\" {\n" + "int f();\n" * 100 + "}\n",
                     f"class alignas(64) A final {{\n{'int f();' + chr(10):.9}{'  int g();' * 3}\n}};\n"]:
            with self.subTest(code=code[:40]):
                self.expect(size.check, {"layers/a.cc": code})


class Snippets(LintTest):
    CODE = SPDX + "int f() {\n  return 1;\n}\nint g();\n"

    def page(self, block: str, *parts: str, example: str = "tests/docs/a_test.cc") -> None:
        tree = {example: self.CODE, "docs/adding/a.md": f"# A\n\nText:\n\n```cpp\n{block}```\n"}
        self.expect(snippets.check, tree, *parts)

    def test_good(self):
        for block in ["int f() {\n  return 1;\n}\n", "  return 1;\n", "return 1;\n",
                      "int g();\n"]:
            with self.subTest(block=block):
                self.page(block)
        self.page("int g();\n", example="tests/docs/a.h")
        self.expect(snippets.check, {"docs/adding/a.md": "```\nint h();\n```\n",
                                     "docs/a.md": "```cpp\nint h();\n```\n"})

    def test_bad(self):
        for block in ["int f() { return 1; }\n", "turn 1;\n", "int g()\n", " int g();\n",
                      "int f() {\n  return 1;\n}\nint h();\n"]:
            with self.subTest(block=block):
                self.page(block, "docs/adding/a.md:6: this code stands in no file of tests/docs")
        self.page("int g();\n", "docs/adding/a.md:6", example="tests/ops/a_test.cc")
        two = "```cpp\nint g();\n```\n\n```cpp\nint h();\n```\n"
        self.expect(snippets.check, {"tests/docs/a.cc": self.CODE, "docs/adding/b.md": two},
                    "docs/adding/b.md:6")

    def test_two_languages(self):
        tree = {"tests/guides/a.cc": self.CODE, "tests/guides/a.py": "def f():\n    return 1\n",
                "tests/docs/b.cc": SPDX + "int h();\n"}
        good = "```python\nreturn 1\n```\n\n```cpp\nreturn 1;\n```\n"
        self.expect(snippets.check, tree | {"docs/from_keras.md": good})
        bad = "```python\nreturn 1;\n```\n\n```cpp\nint h();\n```\n"
        self.expect(snippets.check, tree | {"docs/from_keras.md": bad},
                    "docs/from_keras.md:6", "docs/from_keras.md:2")


class Text(LintTest):
    def test_good(self):
        self.expect(text.check, {"layers/a.h": header() + "// TODO: needs oneDNN 3 for int8\n",
                                 "layers/a.cc": SPDX + "int a = ascii::to_lower(b);  // tolower(b)\n",
                                 "tests/a.py": "x = 1\n",
                                 "tests/golden/data/a.cc": "\t"})

    def test_bad(self):
        for name, content, part in [
                ("layers/a.cc", "int a;\n", "SPDX"), ("layers/a.cc", "\n" + SPDX, "SPDX"),
                ("layers/a.h", SPDX, "#pragma once"), ("layers/a.cc", SPDX + "\tint a;\n", ":2: tab"),
                ("layers/a.cc", SPDX + "int a; \n", "whitespace"), ("run", "a \n", "whitespace"),
                ("layers/a.cc", SPDX + "int a;", "no newline"),
                ("layers/a.cc", SPDX + "int a;  // TODO\n", "TODO"),
                ("layers/a.cc", SPDX + "int a;  // TODO: fix\n", "TODO"),
                ("layers/a.cc", SPDX + "int a = std::tolower(b);\n", ":2: this depends"),
                ("docs/a.py", "# TODO(me)\n", "TODO")]:
            with self.subTest(content=content):
                self.expect(text.check, {name: content}, part)


if __name__ == "__main__":
    unittest.main()
