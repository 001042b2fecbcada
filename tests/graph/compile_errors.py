# SPDX-License-Identifier: Apache-2.0
"""Checks compiler messages for mistakes in function(f), and for methods that would never be called:
they appear soon, are short, and say first what is wrong.

usage: compile_errors.py COMPILER INCLUDE_DIR
"""
import subprocess
import sys
import tempfile

MAX_LINES = 40

PREFIX = """
#include "framework/graph/dispatch.h"
#include "framework/graph/function.h"
#include "framework/train/model.h"
using namespace cornu;
"""

TAKES = "f must be callable with up to eight arguments of const Tensor&"
RETURNS = "f must return nothing, a Tensor, Tensors, or a pair, tuple or vector of tensors"

# Name: (the code, the text of the first error; none: it compiles).
SNIPPETS = {
    "what function takes": ("""
        std::vector<Tensor> of_list(const std::vector<Tensor>& x) { return x; }
        struct ConvertsToTensor { operator Tensor() const; };
        void use() {
          function([] { return Tensor(); });
          function([](const Tensor& x) { return x; });
          function([](Tensor x, Tensor) { return std::pair(x, 1.0f); });
          function([](const auto& x) { return std::tuple(x, x, ConvertsToTensor()); });
          function([](const Tensors& x) { return x; });
          function([](const std::vector<Tensor>& x) { return x; });
          function(of_list);
          function([](const Tensor&) {});
          function([](const Tensor& x) mutable { return ConvertsToTensor(); });
        }""", None),
    "a parameter of another type": (
        "auto f = function([](const Tensor& x, const std::string& s) { return x; });", TAKES),
    "nine parameters": (
        "using T = Tensor; auto f = function([](T a, T, T, T, T, T, T, T, T) { return a; });",
        TAKES),
    "an error in the body": ("auto f = function([](const Tensor& x) { return nope(x); });", "nope"),
    "an error in the body of a generic lambda": (
        "auto f = function([](const auto& x) { return x.nope(); });", "nope"),
    "an error in a generic lambda of two": (
        "auto f = function([](auto x, auto y) { return x.nope(y); });", "nope"),
    "a result that isn't a tensor": (
        'auto f = function([](const Tensor& x) { return std::string("x"); });', RETURNS),
    "a pair of which one isn't": (
        'auto f = function([](const Tensor& x) { return std::pair(x, std::string()); });', RETURNS),
    "methods that override": ("""
        struct Mine : Callback { void on_epoch_end(int64_t, const Logs&) noexcept override {} };
        struct Net : Model { NamedValues<Tensor> train_step(const Batch&) override { return {}; } };
        struct Other : Net { Tensor call(const Tensor& x, const CallArgs&) override { return x; } };
        void use() { make_callback<Mine>(), make_layer<Net>(), make_layer<Other>(); }""", None),
    "a method of a callback that hides": ("""
        struct Mine : Callback { void on_epoch_end(int, Logs) {} };
        auto made = make_callback<Mine>();""", "on_epoch_end isn't the one of Callback"),
    "a method of a layer that hides": ("""
        struct Mine : Layer { void build(Shape) {} };
        auto made = make_layer<Mine>();""", "build isn't the one of Layer: write `override`"),
    "a step of a model that hides": ("""
        struct Mine : Model { NamedValues<Tensor> train_step(Batch) { return {}; } };
        auto made = make_layer<Mine>();""", "train_step isn't the one of Model: write `override`"),
    "a variable that is set by =": (
        "void f(Variable v) { v = Tensor(1.0F); }", "write v.assign(x) in place of v = x"),
    "a loss of a model that hides": ("""
        struct Mine : Model {
          Tensor compute_loss(const Tensors&, const Tensors&, const Tensors&) { return {}; }
        };
        auto made = make_layer<Mine>();""", "compute_loss isn't the one of Model"),
}


def compile_output(compiler, include, code):
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/snippet.cc"
        with open(path, "w") as file:
            file.write(PREFIX + code + "\n")
        command = [compiler, "-std=c++20", "-fsyntax-only", "-I" + include, path]
        return subprocess.run(command, capture_output=True, text=True).stderr.splitlines()


def main():
    compiler, include = sys.argv[1:]
    failures = 0
    for name, (code, expected) in SNIPPETS.items():
        lines = compile_output(compiler, include, code)
        first = next((line for line in lines if "error" in line), None)
        right = not lines if expected is None else first is not None and expected in first
        if right and len(lines) < MAX_LINES:
            continue
        failures += 1
        print(f"{name}: expected {expected or 'no error'} first, in less than {MAX_LINES} lines; "
              f"got {len(lines)} lines:", *lines[:MAX_LINES], sep="\n  ")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
