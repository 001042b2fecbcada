# SPDX-License-Identifier: Apache-2.0
"""The processes that benchmarks drive, alone or several that work together, and their figures.

A process prints "ready"; then, for each line that it receives, it measures once and prints its
figures in one line.
"""
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile

# The C library returns freed memory to the system and gets it again, as pages of zeros, for the
# next step, which takes up to a third of a step's time, more or less at random. PyTorch's processes
# keep freed memory.
KEPT_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
               "MALLOC_TOP_PAD_": str(64 << 20)}


class Contender:
    """A process that measures once for each line it receives. `core`: the only core it may use."""

    def __init__(self, name, command, settings=None, core=None):
        self.name = name
        self.device = ""  # the name of the card, if it reports one
        self.figures = []  # the last answer
        self.errors = tempfile.TemporaryFile("w+")
        kept = KEPT_MEMORY if name.startswith("PyTorch") else {}
        pin = None if core is None else lambda: os.sched_setaffinity(0, {core})
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True, preexec_fn=pin,
                                        env={**os.environ, **kept, **(settings or {})})
        self.times = []

    def ready(self):
        for line in self.process.stdout:
            if line.strip() == "ready":
                return True
            if line.startswith("device "):
                self.device = line.strip().removeprefix("device ")
        return False

    def reason(self):
        """The last line of its error output."""
        self.errors.seek(0)
        lines = self.errors.read().strip().splitlines()
        return lines[-1] if lines else f"it ended with code {self.process.wait()}"

    def tell(self, line=""):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self):
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"{self.name}: ended with code {self.process.wait()} while it measured: "
                     f"{self.reason()}")
        self.figures = [float(figure) for figure in answer.split()]
        return self.figures

    def ask(self, line=""):
        self.tell(line)
        return self.answer()

    def round(self):
        return self.ask()[0]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def start(name, command):
    contender = Contender(name, command)
    if not contender.ready():
        contender.close()
        print(f"  {name}: does not run here: {contender.reason()}", flush=True)
        return None
    return contender


def try_form(name, command, rounds=2):
    """One of a peer's forms, measured alone; None if it doesn't run."""
    contender = start(name, command)
    if contender:
        contender.alone = min(contender.round() for _ in range(rounds))
        print(f"  {name}: {contender.alone:.4g} ms/step", flush=True)
    return contender


def faster(best, contender):
    """The faster of two contenders, or the only one; closes the other."""
    if not best or not contender:
        return best or contender
    first, second = sorted((best, contender), key=lambda each: each.alone)
    second.close()
    return first


class Job:
    """Processes that measure at the same time."""

    def __init__(self, name, members):
        self.name = name
        self.members = members
        self.times = []

    def ready(self):
        return all([member.ready() for member in self.members])

    def ask(self, line=""):
        """The first figure of each process."""
        for member in self.members:
            member.tell(line)
        return [member.answer()[0] for member in self.members]

    def close(self):
        for member in self.members:  # the workers of a job end together
            member.process.stdin.close()
        for member in self.members:
            member.process.wait()


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def worker_settings(addresses, rank, meeting):
    """The environment of one of a job's workers, for TensorFlow and Cornu, and for PyTorch."""
    cluster = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": rank}}
    host, port = meeting.rsplit(":", 1)
    return {"TF_CONFIG": json.dumps(cluster), "RANK": str(rank), "WORLD_SIZE": str(len(addresses)),
            "MASTER_ADDR": host, "MASTER_PORT": port}


def start_job(name, command, workers, settings=None, pinned=False, alone=False):
    """Starts `workers` processes, which know of each other unless they work `alone`; `pinned`: each
    to a core, in turn."""
    *addresses, meeting = [f"127.0.0.1:{port}" for port in free_ports(workers + 1)]
    cores = sorted(os.sched_getaffinity(0))
    members = []
    for rank in range(workers):
        own = {} if alone else worker_settings(addresses, rank, meeting)
        core = cores[rank % len(cores)] if pinned else None
        members.append(Contender(name, command, {**(settings or {}), **own}, core))
    job = Job(name, members)
    if not job.ready():
        job.close()
        return None
    return job


def need(contender, program):
    if contender is None:
        sys.exit(f"{program} does not run. Build it with ./run build.")
    return contender


def spread(values, digits=2):
    middle, *ends = (f"{value:.{digits}f}" for value in
                     (statistics.median(values), min(values), max(values)))
    return f"{middle} ({'-'.join(ends)})"


def columns(contender, rounds):
    """The figures of several rounds: one list per figure."""
    lines = [contender.ask() for _ in range(rounds)]
    contender.close()
    return list(zip(*lines))
