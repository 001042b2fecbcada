# SPDX-License-Identifier: Apache-2.0
"""Trainings that go on with more or fewer workers than they were begun with give what one gives that
one worker does alone, to 1e-6 in float64; and where that can't be, they say why. One in whose second
call of fit a worker is killed, and started again, gives the same bits as one that nobody disturbed:
what the first call has given comes from the worker that was there.

usage: elastic_test.py ELASTIC
"""
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile

TERMINATED = 143
# Of each training: by how many workers, and how many steps (0: to the end) of the 12.
TRAININGS = [[(2, 3), (3, 2), (1, 2), (2, 0)], [(1, 4), (2, 0)], [(3, 6), (2, 3), (1, 0)]]


class Workers:
    """Processes with a port each, which they have again when they are started again."""

    def __init__(self, program, kind, workers, folder, output):
        self.line = [program, kind, folder]
        self.output = output
        self.ended = output + ".ended"
        open(self.ended, "w").close()
        self.sockets = [socket.socket() for _ in range(workers)]
        for own in self.sockets:
            own.bind(("127.0.0.1", 0))

    def start(self, index, steps):
        addresses = [f"127.0.0.1:{own.getsockname()[1]}" for own in self.sockets]
        listener = self.sockets[index].fileno()
        environment = dict(
            os.environ, CORNU_LISTEN_FD=str(listener), OMP_NUM_THREADS="1",
            CORNU_ENDED_FILE=self.ended,
            TF_CONFIG=json.dumps({"cluster": {"worker": addresses},
                                  "task": {"type": "worker", "index": index}}))
        return subprocess.Popen([*self.line, str(steps), self.output], env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                pass_fds=[listener])

    def close(self):
        for own in self.sockets:
            own.close()


def run(program, kind, workers, folder, steps, output):
    """The exit codes, and what they said."""
    job = Workers(program, kind, workers, folder, output)
    processes = [job.start(index, steps) for index in range(workers)]
    said = [process.communicate(timeout=120)[0] for process in processes]
    job.close()
    return [process.returncode for process in processes], "".join(said)


def run_with_a_loss(program, folder, victim, steps, output):
    """A worker is killed after so many steps of the second training; what it says then."""
    job = Workers(program, "twice", 2, folder, output)
    first = job.start(1 - victim, 0)
    lost = job.start(victim, steps)
    said = [lost.communicate(timeout=120)[0]]
    assert lost.returncode == -signal.SIGKILL, said
    back = job.start(victim, 0)
    said += [process.communicate(timeout=120)[0] for process in (first, back)]
    job.close()
    assert [first.returncode, back.returncode] == [0, 0], said
    return said[-1]


def check_twice(program, folder):
    output = os.path.join(folder, "twice")
    codes, said = run(program, "twice", 2, output + ".state", 0, output)
    assert codes == [0, 0], said
    expected = numbers(output)
    for victim in [0, 1]:
        for steps in [3, 7]:
            output = os.path.join(folder, f"twice{victim}{steps}")
            said = run_with_a_loss(program, output + ".state", victim, steps, output)
            assert numbers(output) == expected, said
            for call, number in [("fit", 1), ("fit", 2), ("evaluate", 3)]:
                assert f"{call}: the other workers have been through call {number} of fit and " \
                       "evaluate already." in said, said


def check_quits(program, folder):
    """A worker that ends with code 0 too early hasn't ended the job; one that comes too late has
    nothing left to do."""
    output = os.path.join(folder, "quits")
    codes, said = run(program, "quits", 2, output + ".whole", 0, output)
    assert codes == [0, 0], said
    expected = numbers(output)
    job = Workers(program, "quits", 2, output + ".state", output)
    first = job.start(0, 0)
    quits = job.start(1, 4)
    said = [quits.communicate(timeout=120)[0]]
    assert quits.returncode == 0 and os.path.getsize(job.ended) == 0, said
    back = job.start(1, 0)
    said += [process.communicate(timeout=120)[0] for process in (first, back)]
    assert [first.returncode, back.returncode] == [0, 0] and numbers(output) == expected, said
    assert os.path.getsize(job.ended) > 0
    late = job.start(1, 0)
    said = late.communicate(timeout=120)[0]
    assert late.returncode == 0 and "it has nothing left to do with the others" in said, said
    job.close()


def check_exits(program, folder):
    """A worker that calls exit(0) too early is to be started again."""
    output = os.path.join(folder, "exits")
    job = Workers(program, "exits", 2, output + ".state", output)
    first = job.start(0, 0)
    exits = job.start(1, 4)
    said = [exits.communicate(timeout=120)[0]]
    assert exits.returncode == 75 and "ends by exit(0) before its strategy has gone" in said[0], said
    back = job.start(1, 0)
    said += [process.communicate(timeout=120)[0] for process in (first, back)]
    job.close()
    assert [first.returncode, back.returncode] == [0, 0], said


def check_fails(program, folder):
    """The others of a call are told at once that it fails on one worker, which lives on."""
    job = Workers(program, "fails", 2, folder, os.path.join(folder, "fails"))
    fails = job.start(1, 0)
    other = job.start(0, 0)
    said = other.communicate(timeout=120)[0]
    assert other.returncode == 1 and "has stopped: no more" in said, said
    fails.kill()
    assert "caught" in fails.communicate()[0]
    job.close()


def numbers(path):
    with open(path) as file:
        return [float(line) for line in file]


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        for kind in ["arrays", "dataset"]:
            output = os.path.join(folder, kind)
            codes, said = run(program, kind, 1, output + ".state", 0, output)
            assert codes == [0], said
            expected = numbers(output)
            assert len(expected) > 20
            for number, training in enumerate(TRAININGS):
                output = os.path.join(folder, f"{kind}{number}")
                for workers, steps in training:
                    codes, said = run(program, kind, workers, output + ".state", steps, output)
                    assert codes == [TERMINATED if steps else 0] * workers, said
                got = numbers(output)
                assert len(got) == len(expected)
                worst = max(abs(a - b) for a, b in zip(got, expected))
                print(f"{kind}, by {training}: differs by {worst:.2g}")
                assert worst < 1e-6, said
        check_twice(program, folder)
        check_quits(program, folder)
        check_exits(program, folder)
        check_fails(program, folder)
        state = os.path.join(folder, "off.state")
        codes, said = run(program, "off", 2, state, 3, os.path.join(folder, "off"))
        assert codes == [TERMINATED] * 2, said
        codes, said = run(program, "off", 1, state, 0, os.path.join(folder, "off"))
        assert codes == [1], said
        assert "fit: the run to go on with had 2 workers, this one has 1, and where they were in " \
               "their data can't be told for others: " in said, said
        assert "Workers can be more or fewer where batches are divided among them" in said, said


if __name__ == "__main__":
    main()
