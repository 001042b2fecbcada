# SPDX-License-Identifier: Apache-2.0
"""A program with parameter servers may have several strategies; its tasks end with it when it exits
with code 0, and wait for it to be restarted when it fails, exits while its steps run, or is killed.

usage: coordinator_test.py COORDINATOR
"""
import json
import os
import signal
import socket
import subprocess
import sys

SECONDS = 120
FAILED = 3


class Job:
    """A chief, a worker and a server, which keep their ports when they are restarted."""

    def __init__(self, program):
        self.program = program
        self.sockets = {task: socket.socket() for task in ("chief", "worker", "ps")}
        for own in self.sockets.values():
            own.bind(("127.0.0.1", 0))
        self.cluster = {task: [f"127.0.0.1:{own.getsockname()[1]}"]
                        for task, own in self.sockets.items()}
        self.tasks = [self.start("worker"), self.start("ps")]

    def start(self, task, what="strategies"):
        listener = self.sockets[task].fileno()
        environment = dict(os.environ, CORNU_LISTEN_FD=str(listener), OMP_NUM_THREADS="1",
                           TF_CONFIG=json.dumps({"cluster": self.cluster,
                                                 "task": {"type": task, "index": 0}}))
        if what == "exits":  # libcrypto's exit handler forgets what it keeps for running threads
            environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        return subprocess.Popen([self.program, what], env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                pass_fds=[listener])

    def run(self, what):
        """The chief's exit code and its output."""
        chief = self.start("chief", what)
        said = chief.communicate(timeout=SECONDS)[0]
        return chief.returncode, said

    def close(self):
        """The exit codes of the other tasks, which end by themselves."""
        for task in self.tasks:
            task.communicate(timeout=SECONDS)
        for own in self.sockets.values():
            own.close()
        return [task.returncode for task in self.tasks]


def main():
    job = Job(sys.argv[1])
    for _ in range(2):  # the second one after a failure
        code, said = job.run("fails")
        assert code == FAILED, said
    for _ in range(20):  # a thread that goes on as the process exits fails now and then
        code, said = job.run("exits")
        assert code == FAILED, (code, said)
    killed = job.start("chief")
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=SECONDS)
    assert [task.poll() for task in job.tasks] == [None, None]
    code, said = job.run("strategies")
    assert code == 0 and said.count("3 steps") == 3, (code, said)
    assert job.close() == [0, 0]


main()
