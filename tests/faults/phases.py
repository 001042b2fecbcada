# SPDX-License-Identifier: Apache-2.0
"""Kills workers at an exact moment: of a step (in its forward pass, within the all-reduce of the
gradients, or between that and the end of the optimizer), or of the writing of a state. After a
restart, all continue to the same weights.

usage: phases.py PROGRAM [--workers N ...] [--steps N ...]
"""
import argparse
import os
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "distribute"))

from elastic_test import Workers

PHASES = ["forward", "all-reduce", "optimizer"]
WRITING = ["half written", "written", "synced", "in place"]
EVERY_WORKER = {"CORNU_TEST_ON_EVERY_WORKER": "1"}
SECONDS = 120


class Job(Workers):
    def __init__(self, program, workers, folder, of_all):
        output = os.path.join(folder, "weights")
        super().__init__(program, "", workers, folder, output)
        self.line, self.output_argument = [program], [output]
        self.weights = output
        self.state = os.path.join(folder, "state")
        self.of_all = of_all

    def start(self, index, **settings):
        return super().start(index, self.state, **self.of_all, **settings)


def run(program, workers, victim=None, phase="", step=0, of_all=None):
    """The bytes of the weights. The victim is killed at that moment in its first life."""
    moment = {"CORNU_TEST_PHASE": phase, "CORNU_TEST_STEP": str(step)}
    with tempfile.TemporaryDirectory() as folder:
        job = Job(program, workers, folder, of_all or {})
        lives = [job.start(index, **(moment if index == victim else {}))
                 for index in range(workers)]
        said, killed = [], 0
        end = time.monotonic() + SECONDS
        while True:
            assert time.monotonic() < end, said
            codes = [life.poll() for life in lives]
            for index, code in enumerate(codes):
                if code in (0, None):
                    continue
                said.append(f"worker {index} ended with {code}: " + lives[index].communicate()[0])
                assert code in (-signal.SIGKILL, 1, 75), said
                killed += code == -signal.SIGKILL
                lives[index] = job.start(index)
            if all(code == 0 for code in codes):
                break
            time.sleep(0.002)
        said += [life.communicate()[0] for life in lives]
        job.close()
        assert killed == (victim is not None), (moment, said)
        with open(job.weights, "rb") as file:
            return file.read()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--steps", type=int, nargs="+", default=[1, 4])
    options = parser.parse_args()
    runs = 0
    for workers in options.workers:
        expected = run(options.program, workers)
        assert expected
        for phase in PHASES:
            for victim in range(workers):
                for step in options.steps:
                    got = run(options.program, workers, victim, phase, step)
                    assert got == expected, (workers, phase, victim, step)
                    runs += 1
            print(f"{workers} workers, {phase}: the same weights")
        for number, phase in enumerate(WRITING):
            for victim in range(workers) if workers == 2 else [number % workers]:
                state = 1 + (number + victim) % 2  # with a state before it, or without
                got = run(options.program, workers, victim, phase, state, EVERY_WORKER)
                assert got == expected, (workers, phase, victim, state)
                runs += 1
            print(f"{workers} workers, {phase}: the same weights")
    print(f"{runs} trainings")


if __name__ == "__main__":
    main()
