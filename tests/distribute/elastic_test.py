# SPDX-License-Identifier: Apache-2.0
"""Trainings that continue with more or fewer workers than they began with give the results of a
single worker, to 1e-6 in float64; where that isn't possible, they say why. A training in whose
second call of fit a worker is killed and restarted gives the same bits as an undisturbed one: the
results of the first call come from the worker that survived. So does one whose worker is killed
while it evaluates. When global batches have a different size, training continues after as many
examples.

usage: elastic_test.py ELASTIC CLOCK, a library to be preloaded that sets the clock ahead
"""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile

TERMINATED = 143
# For each training: the number of workers, and of steps out of the 12 (0: to the end).
TRAININGS = [[(2, 3), (3, 2), (1, 2), (2, 0)], [(1, 4), (2, 0)], [(3, 6), (2, 3), (1, 0)]]


class Workers:
    """Processes with a port each, which they keep when they are restarted."""

    def __init__(self, program, kind, workers, folder, output):
        self.line = [program, kind, folder]
        self.output_argument = [output]
        self.ended = output + ".ended"
        open(self.ended, "w").close()
        self.sockets = [socket.socket() for _ in range(workers)]
        for own in self.sockets:
            own.bind(("127.0.0.1", 0))

    def start(self, index, steps, stderr=subprocess.STDOUT, **settings):
        addresses = [f"127.0.0.1:{own.getsockname()[1]}" for own in self.sockets]
        listener = self.sockets[index].fileno()
        environment = dict(
            os.environ, CORNU_LISTEN_FD=str(listener), OMP_NUM_THREADS="1",
            CORNU_ENDED_FILE=self.ended,
            TF_CONFIG=json.dumps({"cluster": {"worker": addresses},
                                  "task": {"type": "worker", "index": index}}), **settings)
        return subprocess.Popen([*self.line, str(steps), *self.output_argument], env=environment,
                                text=True, stdout=subprocess.PIPE, stderr=stderr,
                                pass_fds=[listener])

    def close(self):
        for own in self.sockets:
            own.close()


def run(program, kind, workers, folder, steps, output, **settings):
    """The exit codes and the output."""
    job = Workers(program, kind, workers, folder, output)
    processes = [job.start(index, steps, **settings) for index in range(workers)]
    said = [process.communicate(timeout=120)[0] for process in processes]
    job.close()
    return [process.returncode for process in processes], "".join(said)


def run_with_a_loss(program, kind, folder, victim, steps, output, code=0, **settings):
    """Kills a worker after so many steps; the output of the other one and of the restarted one."""
    job = Workers(program, kind, 2, folder, output)
    first = job.start(1 - victim, 0, **settings)
    lost = job.start(victim, steps, **settings)
    said = [lost.communicate(timeout=120)[0]]
    assert lost.returncode == -signal.SIGKILL, said
    back = job.start(victim, 0, **settings)
    said += [process.communicate(timeout=120)[0] for process in (first, back)]
    job.close()
    assert [first.returncode, back.returncode] == [code, code], said
    return said[1:]


def check_twice(program, folder):
    output = os.path.join(folder, "twice")
    codes, said = run(program, "twice", 2, output + ".state", 0, output)
    assert codes == [0, 0], said
    expected = numbers(output)
    for victim in [0, 1]:
        for steps in [3, 7]:
            output = os.path.join(folder, f"twice{victim}{steps}")
            _, said = run_with_a_loss(program, "twice", output + ".state", victim, steps, output)
            assert numbers(output) == expected, said
            for call, number in [("fit", 1), ("fit", 2), ("evaluate", 3)]:
                assert f"{call}: the other workers have already completed call {number} of fit and " \
                       "evaluate." in said, said


def check_ahead(program, folder):
    """A worker is killed while the others have steps in flight."""
    output = os.path.join(folder, "ahead")
    codes, said = run(program, "ahead", 2, output + ".whole", 0, output)
    assert codes == [0, 0], said
    expected = numbers(output)
    for victim in [0, 1]:
        for milliseconds in [1, 20, 50]:
            state = f"{output}.{victim}.{milliseconds}"
            job = Workers(program, "ahead", 2, state, output)
            others = job.start(1 - victim, 0)
            lost = job.start(victim, milliseconds)
            said = [lost.communicate(timeout=120)[0]]
            # It may have finished before.
            if lost.returncode == -signal.SIGKILL:
                lost = job.start(victim, 0)
                said.append(lost.communicate(timeout=120)[0])
            said.append(others.communicate(timeout=120)[0])
            job.close()
            assert [others.returncode, lost.returncode] == [0, 0] and numbers(output) == expected, said


def check_quits(program, folder):
    """A worker that exits with code 0 too early doesn't end the job; one that comes too late has
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
    """A worker that calls exit(0) too early must be restarted, even if it can't say so."""
    end_too_early(program, os.path.join(folder, "exits"), subprocess.STDOUT,
                  "ends by exit(0) before its strategy has gone")
    with open("/dev/full", "w") as full:
        end_too_early(program, os.path.join(folder, "exits_unheard"), full, "")


def end_too_early(program, output, stderr, words):
    job = Workers(program, "exits", 2, output + ".state", output)
    first = job.start(0, 0)
    exits = job.start(1, 4, stderr=stderr)
    said = [exits.communicate(timeout=120)[0]]
    assert exits.returncode == 75 and words in said[0], (exits.returncode, said)
    back = job.start(1, 0)
    said += [process.communicate(timeout=120)[0] for process in (first, back)]
    job.close()
    assert [first.returncode, back.returncode] == [0, 0], said


def check_evaluates(program, folder):
    """A worker that is killed in an evaluation: the other waits for it, and both evaluate again."""
    output = os.path.join(folder, "evaluates")
    codes, said = run(program, "evaluates", 2, output + ".whole", 0, output)
    assert codes == [0, 0], said
    expected = numbers(output)
    for victim in [0, 1]:
        state = output + f".state{victim}"
        other, back = run_with_a_loss(program, "evaluates", state, victim, 2, output)
        assert numbers(output) == expected, (other, back)
        assert f"waiting for worker {victim} " in other, other
        assert "fit: the other workers have already completed call 1 of fit and evaluate" in back, back
    output = os.path.join(folder, "skips")
    for text in run_with_a_loss(program, "skips", output + ".state", 1, 2, output, code=1):
        assert "evaluate: this worker was restarted, and its call 1 of fit and evaluate is " \
               "evaluate, while it was fit on the others." in text, text


def check_other_batches(program, folder):
    """Half as many workers with half the global batch size, or twice as many with twice the size:
    the result depends on the batches, not on the number of workers that processed them."""
    # After two batches of the 23 rows: after how many of the other size, and how many rows repeat.
    places = {(12, 6): (4, 0), (6, 12): (1, 0), (4, 6): (1, 2)}
    for kind in ["arrays", "dataset"]:
        for sizes, (batches, left) in places.items():
            got = []
            for workers in [(2, 1), (1, 2), (3, 2)]:
                output = os.path.join(folder, f"batches{kind}{sizes}{workers}".replace(" ", ""))
                # After the second batch of the second epoch: the others learn of it a step later.
                steps = (23 + sizes[0] - 1) // sizes[0] + (1 if workers[0] > 1 else 2)
                codes, said = run(program, kind, workers[0], output + ".state", steps, output,
                                  CORNU_TEST_BATCH=str(sizes[0]))
                assert codes == [TERMINATED] * workers[0], said
                codes, said = run(program, kind, workers[1], output + ".state", 0, output,
                                  CORNU_TEST_BATCH=str(sizes[1]))
                assert codes == [0] * workers[1], said
                again = f"; {left} examples come a second time" if left else ""
                text = f"the place to resume from was counted in batches of {sizes[0]} examples, and " \
                       f"they have {sizes[1]} here. It is behind {batches} of these{again}: "
                assert text in said, said
                got.append(numbers(output))
            for other in got[1:]:
                assert max(abs(a - b) for a, b in zip(got[0], other, strict=True)) < 1e-6, got
    state = os.path.join(folder, "same.state")
    output = os.path.join(folder, "same")
    codes, said = run(program, "arrays", 2, state, 3, output)
    assert codes == [TERMINATED] * 2, said
    codes, said = run(program, "arrays", 2, state, 0, output, CORNU_TEST_BATCH="4")
    assert codes != [0] * 2 and "the position was saved by another pipeline" in said, said


def check_ends(program, folder):
    """A signal that one worker gets in the last callbacks ends all workers, and loses nothing."""
    output = os.path.join(folder, "ends")
    codes, said = run(program, "ends", 2, output + ".whole", 0, output)
    assert codes == [0, 0], said
    expected = numbers(output)
    for kind, code, name in [("ends", TERMINATED, "SIGTERM"), ("ends interrupted", 1, "SIGINT")]:
        for workers in [1, 2, 3]:
            for where in [1, 2]:
                state = f"{output}.{name}.{workers}.{where}"
                codes, said = run(program, kind, workers, state, where, output)
                assert codes == [code] * workers, (codes, said)
                assert said.count(f"fit: {name} ends it after epoch 3. Its state was saved: ") == workers, said
                codes, said = run(program, kind, workers, state, 0, output)
                assert codes == [0] * workers, said
                assert said.count("Training resumes after epoch 3.") == workers, said
                worst = max(abs(a - b) for a, b in zip(numbers(output), expected, strict=True))
                assert worst < 1e-6, (worst, said)
    for where in [1, 2]:
        said = run_with_a_loss(program, "ends killed", f"{output}.killed.{where}", 1, where, output)
        assert numbers(output) == expected, said
        assert "waiting for worker 1 " in said[0] and "Training resumes after " in said[1], said


def check_copies(program, folder):
    """Every worker keeps the state: the chief's may be lost or outdated."""
    output = os.path.join(folder, "copies")
    codes, said = run(program, "copies", 2, output + ".whole", 0, output)
    assert codes == [0, 0], said
    expected = numbers(output)
    lines = text_of(output + ".csv")
    for kind, workers, how in [("apart", 2, "removed"), ("apart", 2, "damaged"), ("copies", 1, "old"),
                               ("copies", 2, "damaged")]:
        state = f"{output}.{kind}.{how}"
        chiefs = os.path.join(state, "0" if kind == "apart" else "")
        codes, said = run(program, kind, 2, state, 2, output)
        assert codes == [TERMINATED] * 2, said
        with open(os.path.join(chiefs, "run_state"), "rb") as file:
            old = file.read()
        codes, said = run(program, kind, 2, state, 3, output)
        assert codes == [TERMINATED] * 2, said
        os.remove(os.path.join(chiefs, "run_state.previous"))
        if how == "removed":
            os.remove(os.path.join(chiefs, "run_state"))
        else:
            with open(os.path.join(chiefs, "run_state"), "wb") as file:
                file.write(old if how == "old" else b"damaged")
        os.remove(output + ".csv")  # another worker's state must tell what the chief has written
        codes, said = run(program, kind, workers, state, 0, output)
        assert codes == [0] * workers, said
        assert "Training resumes after batch 3 of epoch 2." in said, said
        assert max(abs(a - b) for a, b in zip(numbers(output), expected, strict=True)) < 1e-6, said
        if kind == "apart":
            assert "fit: the newest state is that of worker 1, which all take." in said, said
            assert text_of(output + ".csv") == lines, (text_of(output + ".csv"), lines)
        assert [line[:2] for line in text_of(output + ".csv").split()] == ["ep", "0,", "1,", "2,"]


def check_full_disk(program, folder):
    """All workers are notified of one that can't write the state, and training continues."""
    for whose, kind in enumerate(["full", "full of 1"]):
        output = os.path.join(folder, kind)
        job = Workers(program, kind, 2, output + ".state", output)
        processes = [job.start(index, 2) for index in range(2)]
        said = [process.communicate(timeout=120)[0] for process in processes]
        job.close()
        assert [process.returncode for process in processes] == [0, 0], said
        # The disk may be full before the first state is written.
        assert re.search("The state of the run can't be written(, the one before it stays)?: ",
                         said[whose]), said
        assert f"fit: worker {whose} can't write the state of the run: " in said[1 - whose], said
        assert "File too large" in said[whose] and "File too large" in said[1 - whose], said
        assert all("epochs: 3" in text for text in said), said


def check_clocks(program, folder, clock):
    """All workers are told whose clock differs."""
    output = os.path.join(folder, "clocks")
    job = Workers(program, "arrays", 3, output + ".state", output)
    skewed = {"LD_PRELOAD": os.path.abspath(clock), "ASAN_OPTIONS": "verify_asan_link_order=0"}
    processes = [job.start(0, 0), job.start(1, 0, CORNU_TEST_CLOCK_AHEAD="3600", **skewed),
                 job.start(2, 0, CORNU_TEST_CLOCK_AHEAD="-60", **skewed)]
    said = [process.communicate(timeout=120)[0] for process in processes]
    job.close()
    assert [process.returncode for process in processes] == [0] * 3, said
    for text in said:
        for number, ahead, how in [(1, 3600, "ahead of"), (2, 60, "behind")]:
            found = re.search(f"the clock of worker {number} is (\\d+) s {how} that of worker 0: ", text)
            # They read their clocks one after another.
            assert found and abs(int(found[1]) - ahead) < 50, said


def check_fails(program, folder):
    """When a call fails on one worker, which stays alive, the others are notified immediately."""
    job = Workers(program, "fails", 2, folder, os.path.join(folder, "fails"))
    fails = job.start(1, 0)
    other = job.start(0, 0)
    said = other.communicate(timeout=120)[0]
    assert other.returncode == 1 and "has stopped: no more" in said, said
    fails.kill()
    assert "caught" in fails.communicate()[0]
    job.close()


def text_of(path):
    with open(path) as file:
        return file.read()


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
        check_ahead(program, folder)
        check_quits(program, folder)
        check_exits(program, folder)
        check_fails(program, folder)
        check_evaluates(program, folder)
        check_other_batches(program, folder)
        check_ends(program, folder)
        check_copies(program, folder)
        check_full_disk(program, folder)
        check_clocks(program, folder, sys.argv[2])
        state = os.path.join(folder, "off.state")
        codes, said = run(program, "off", 2, state, 3, os.path.join(folder, "off"))
        assert codes == [TERMINATED] * 2, said
        codes, said = run(program, "off", 1, state, 0, os.path.join(folder, "off"))
        assert codes == [1], said
        assert "fit: the saved run had 2 workers, this one has 1, and their positions in the data " \
               "can't be converted: " in said, said
        assert "The number of workers can change where batches are divided among them" in said, said


if __name__ == "__main__":
    main()
