# SPDX-License-Identifier: Apache-2.0
"""Two workers with a ModelCheckpoint: which files exist while they train, after they were killed
and at the end. A job whose workers were all killed continues from the files of ModelCheckpoint, to
the same bits; so does a job that lost a single worker.

usage: checkpoints_test.py ELASTIC
"""
import os
import signal
import sys
import tempfile

from elastic_test import Workers, numbers, run, run_with_a_loss

STATE = ".{epoch}.weights.h5.run"
BATCHES = 4  # per epoch


def files(folder):
    """All files in the folders of workers, by their paths."""
    return sorted(os.path.relpath(os.path.join(where, name), folder)
                  for where, _, names in os.walk(folder) for name in names)


def weights(folder):
    """The bytes of the weight files."""
    return {name: open(os.path.join(folder, "0", name), "rb").read()
            for name in sorted(os.listdir(os.path.join(folder, "0")))}


def kill_all(program, state, victim, steps, output):
    """Kills a worker after so many steps, and the other one when the first is gone."""
    job = Workers(program, "checkpoints", 2, state, output)
    other = job.start(1 - victim, 0)
    lost = job.start(victim, steps)
    said = lost.communicate(timeout=120)[0]
    assert lost.returncode == -signal.SIGKILL, said
    other.kill()
    said += other.communicate(timeout=120)[0]
    job.close()
    return said


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "output")
        whole = os.path.join(folder, "whole")
        codes, said = run(program, "checkpoints", 2, whole, 0, output)
        assert codes == [0, 0], said
        expected = numbers(output)
        # Worker 1 has written nothing, and the state is gone.
        ended = [f"0/{epoch}.weights.h5" for epoch in (1, 2, 3)]
        assert files(whole) == ended and os.listdir(whole) == ["0"], os.listdir(whole)

        for victim in (0, 1):
            for epochs, steps in [(1, BATCHES + 2), (2, 2 * BATCHES + 1)]:
                state = os.path.join(folder, f"killed.{victim}.{steps}")
                said = kill_all(program, state, victim, steps, output)
                left = files(state)
                states = [path for path in left if STATE in path]
                assert f"0/{STATE}/run_state" in states, left
                assert [path for path in left if path not in states] == ended[:epochs], left
                assert os.listdir(state) == ["0"], (os.listdir(state), said)
                codes, said = run(program, "checkpoints", 2, state, 0, output)
                assert codes == [0, 0], said
                assert said.count(f"Training resumes after epoch {epochs}.") == 2, said
                assert numbers(output) == expected, said
                assert files(state) == ended and weights(state) == weights(whole), files(state)

                state = os.path.join(folder, f"lost.{victim}.{steps}")
                said = run_with_a_loss(program, "checkpoints", state, victim, steps, output)
                for text in said:
                    assert f"Training resumes after epoch {epochs}." in text, said
                assert numbers(output) == expected, said
                assert files(state) == ended and weights(state) == weights(whole), files(state)


if __name__ == "__main__":
    main()
