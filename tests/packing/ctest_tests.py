# SPDX-License-Identifier: Apache-2.0
"""The tests of a build folder, as reported by ctest."""
import json
import subprocess


class Test:
    def __init__(self, entry):
        properties = {each["name"]: each["value"] for each in entry.get("properties", [])}
        self.name = entry["name"]
        self.command = entry.get("command", [])
        self.labels = properties.get("LABELS", [])
        self.environment = dict(text.split("=", 1) for text in properties.get("ENVIRONMENT", []))
        self.timeout = properties.get("TIMEOUT", 120)


def tests_of(build, *arguments):
    """Returns the tests that `ctest ARGUMENTS` would run."""
    done = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1", *arguments],
                          check=True, capture_output=True, text=True)
    return [Test(entry) for entry in json.loads(done.stdout)["tests"]]
