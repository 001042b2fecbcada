#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that the output of pack.py runs elsewhere, without the build folder."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = """
add_test(shows "{build}/bin/env")
set_tests_properties(shows PROPERTIES LABELS "gpu" TIMEOUT 60
  ENVIRONMENT "CORNU_TEST_DATA={build}/golden;CORNU_TEST_DEVICE=GPU:0;CORNU_PYTHON={build}/python")
add_test(passes "{build}/bin/true")
set_tests_properties(passes PROPERTIES LABELS "gpu")
add_test(fails "{build}/bin/false")
set_tests_properties(fails PROPERTIES LABELS "gpu")
add_test(other "{build}/bin/ls")
set_tests_properties(other PROPERTIES LABELS "unit")
"""


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


class Packing(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.build = os.path.join(self.folder, "build")
        os.makedirs(os.path.join(self.build, "bin"))
        os.makedirs(os.path.join(self.build, "golden"))
        for name in ("env", "true", "false", "ls"):
            shutil.copy(shutil.which(name), os.path.join(self.build, "bin", name))
        with open(os.path.join(self.build, "golden", "values.txt"), "w", encoding="utf-8") as file:
            file.write("1 2 3")
        with open(os.path.join(self.build, "CTestTestfile.cmake"), "w", encoding="utf-8") as file:
            file.write(TESTS.format(build=self.build))
        self.target = os.path.join(self.folder, "tests.tar.xz")

    def pack(self, *arguments):
        return run(sys.executable, os.path.join(HERE, "pack.py"), self.build, *arguments)

    def test_packed_tests_run_elsewhere(self):
        packed = self.pack("gpu", self.target)
        self.assertEqual(packed.returncode, 0, packed.stderr)
        self.assertIn("3 tests", packed.stdout)
        shutil.rmtree(self.build)
        self.assertEqual(run("tar", "xf", self.target, "-C", self.folder).returncode, 0)
        root = os.path.join(self.folder, "cornu-tests")
        script = os.path.join(root, "run")
        whole = run(script)
        self.assertEqual(whole.returncode, 1)
        self.assertIn("passes: passed", whole.stdout)
        self.assertIn("fails: FAILED: code 1", whole.stdout)
        self.assertIn("of 3 tests 2 passed, 0 were skipped, and failed: fails", whole.stdout)
        self.assertNotIn("other", whole.stdout)
        shown = run(script, "-v", "shows")
        self.assertEqual(shown.returncode, 0)
        self.assertIn(f"CORNU_TEST_DATA={root}/data\n", shown.stdout)
        self.assertIn("CORNU_TEST_DEVICE=GPU:0\n", shown.stdout)
        self.assertIn(f"LD_LIBRARY_PATH={root}/lib", shown.stdout)
        self.assertNotIn("CORNU_PYTHON=" + self.build, shown.stdout)
        with open(os.path.join(root, "data", "values.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "1 2 3")
        self.assertEqual(run(script, "nothing").returncode, 1)
        self.assertEqual(run(script, "--verbos").returncode, 2)
        link = os.path.join(self.folder, "it's a link")
        os.symlink(script, link)
        self.assertEqual(run(link, "passes").returncode, 0)
        os.rename(root, root + "'s")
        shown = run("bash", "-c", f'eval "$("{root}\'s/run" --environment)"; echo $LD_LIBRARY_PATH')
        self.assertIn(root + "'s/lib", shown.stdout)

    def test_what_cannot_be_packed(self):
        self.assertIn("No test with the label none", self.pack("none", self.target).stderr)
        os.remove(os.path.join(self.build, "bin", "false"))
        self.assertNotEqual(self.pack("gpu", self.target).returncode, 0)
        self.assertFalse(os.path.exists(self.target))


if __name__ == "__main__":
    unittest.main()
