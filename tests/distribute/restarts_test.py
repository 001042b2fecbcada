# SPDX-License-Identifier: Apache-2.0
"""Programs of two workers that start over, or continue in a call of fit later than the first: they
produce the same bits as an undisturbed run.

So do programs whose workers have batches of their own. When a worker is killed before a state is
written, the others wait for it, and all start over. When two calls of fit keep their states in one
folder, and workers are stopped in the second call, that call continues, and the first doesn't take
its state. A worker that restarts in a later call gets the final results of the earlier calls.

usage: restarts_test.py ELASTIC PART, "early" or "late": the first test, or the others
"""
import os
import re
import signal
import sys
import tempfile
import time

from elastic_test import TERMINATED, Workers, numbers, run, run_with_a_loss

ANEW = "Training starts over: a worker was lost before a state was saved."
# Where a worker is killed: Early in elastic.cc.
BEFORE_FITS = 1
(BEFORE_STEPS, IN_FIRST_STEP, AFTER_FIRST_STEP, ON_FULL_DISK, AT_EPOCH_BEGIN, IN_VALIDATION,
 IN_BEGINNING) = range(2, 9)


def check_early(program, folder):
    output = os.path.join(folder, "early")
    codes, said = run(program, "early", 2, output + ".whole", 0, output)
    assert codes == [0, 0], said
    expected = numbers(output)
    places = [BEFORE_FITS] + [10 * call + where for call in (1, 2)
                              for where in (BEFORE_STEPS, IN_BEGINNING, IN_FIRST_STEP,
                                            AFTER_FIRST_STEP)]
    places += [10 * call + where for call in (2, 3) for where in (AT_EPOCH_BEGIN, IN_VALIDATION)]
    cases = [(victim, place) for place in places for victim in (0, 1)]
    for victim, place in cases + [(0, 10 + ON_FULL_DISK), (0, 20 + ON_FULL_DISK)]:
        state = f"{output}.{victim}.{place}"
        other, back = run_with_a_loss(program, "early", state, victim, place, output)
        assert numbers(output) == expected, (victim, place, other, back)
        assert f"worker {victim} " in other and "is lost" in other, (victim, place, other)
        # Earlier, the other worker may not have reached the run yet.
        # When the validation begins, a state may have been written.
        assert ANEW in other or place % 10 in (BEFORE_FITS, BEFORE_STEPS, IN_VALIDATION), \
            (victim, place, other)
        print(f"worker {victim} killed at {place}: the same bits")


def check_again(program, folder):
    output = os.path.join(folder, "again")
    codes, said = run(program, "again", 2, output + ".whole", 0, output)
    assert codes == [0, 0], said
    expected = numbers(output)
    for steps in (2, 5):
        state = f"{output}.{steps}"
        codes, said = run(program, "again", 2, state, steps, output)
        assert codes == [TERMINATED] * 2 and os.listdir(state) == ["fit 2"], (said, os.listdir(state))
        codes, said = run(program, "again", 2, state, 0, output)
        assert codes == [0, 0] and numbers(output) == expected, said
        assert f"'{state}/fit 2' is of a later fit of the program that saved it." in said, said
        assert said.count("Training resumes after batch") == 2 and not os.path.exists(state), said
        for victim in (0, 1):
            state = f"{output}.{victim}.{steps}"
            said = run_with_a_loss(program, "again", state, victim, -steps, output)
            assert numbers(output) == expected and not os.path.exists(state), said
            for text in said:
                assert text.count("Training resumes after batch") == 1, said


def check_own(program, folder):
    """Worker 0 has two batches per epoch, worker 1 six: states are kept while only one goes on."""
    output = os.path.join(folder, "own")
    codes, said = run(program, "own", 2, output + ".whole", 0, output)
    assert codes == [0, 0], said
    expected = numbers(output)
    for steps in (2, 4, 9):
        state = f"{output}.{steps}"
        codes, said = run(program, "own", 2, state, steps, output)
        assert codes == [TERMINATED] * 2, said
        codes, said = run(program, "own", 1, state, 0, output)
        assert codes == [1], said
        assert "the position was saved among batches of 1 replicas of each of 2 workers, but here " \
               "it is among batches of 1 replicas. " in said, said
        codes, said = run(program, "own", 2, state, 0, output)
        assert codes == [0, 0] and numbers(output) == expected, said
        assert said.count("Training resumes after batch") == 2, said


def check_kept(program, folder):
    """A restarted worker takes the results that each call had; if no worker has them, all end."""
    lacking = {"keeps": "the model that it trained has been changed since",
               "folds": "the model that it trained has gone, or was compiled again",
               "defers": "the model that it trained has gone, or was compiled again"}
    for kind, why in lacking.items():
        output = os.path.join(folder, kind)
        codes, said = run(program, kind, 2, output + ".whole", 0, output)
        assert codes == [0, 0], said
        expected = numbers(output)
        for victim in (0, 1):
            said = run_with_a_loss(program, kind, f"{output}.{victim}", victim, 3, output)
            assert numbers(output) == expected, (kind, victim, said)
        said = run_with_a_loss(program, kind, output + ".none", 0, 3, output, code=1,
                               CORNU_KEPT_CALLS_MIB="0")
        for text in said:
            assert "fit: a worker was restarted, but the others no longer have the results of call 1 of " \
                   f"fit and evaluate: {why}. Restart all workers." in text, said
        codes, said = run(program, kind, 2, output + ".none", 0, output)
        assert codes == [0, 0] and numbers(output) == expected, said
    output = os.path.join(folder, "unchanged")
    run_with_a_loss(program, "evaluates", output + ".state", 1, 2, output, CORNU_KEPT_CALLS_MIB="0")
    codes, said = run(program, "evaluates", 2, output + ".state", 0, output,
                      CORNU_KEPT_CALLS_MIB="much")
    assert codes == [1, 1], said
    # One of them may first learn that the other has stopped.
    assert "CORNU_KEPT_CALLS_MIB: expected a number of MiB, got 'much'." in said, said


def check_leaks(program, folder):
    """A worker that returns from main has left, even if a model holds the strategy; a child's exit
    isn't the worker's."""
    output = os.path.join(folder, "leaks")
    sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"  # a child lacks all threads
    for kind in ["leaks", "leaks and forks"]:
        codes, said = run(program, kind, 2, output, 0, output, ASAN_OPTIONS=sanitizer)
        assert codes == [0, 0], (kind, codes, said)
    assert "the child's status: 0\n" in said, said


def check_over(program, folder):
    """The chief is killed when all have left, before it has recorded that and removed the state:
    this happens when it is restarted, and another job trains."""
    output = os.path.join(folder, "over")
    state = output + ".state"
    codes, said = run(program, "again", 2, state, 0, output)
    assert codes == [0, 0], said
    expected = numbers(output)
    job = Workers(program, "again", 2, state, output)
    ended, job.ended = job.ended, output + ".fifo"  # where it waits to report that all have left
    os.mkfifo(job.ended)
    chief = job.start(0, 0)
    job.ended = ended
    other = job.start(1, 0)
    while os.path.getsize(job.ended) == 0 and other.poll() is None:  # until all have left
        time.sleep(0.01)
    assert other.poll() is None, other.communicate()  # waits until the chief has recorded it, too
    chief.kill()
    said = [process.communicate(timeout=120)[0] for process in (other, chief)]
    assert other.returncode == 0, said
    assert os.path.exists(os.path.join(state, "fit 2", "run_state")), said
    back = job.start(0, 0)
    said = back.communicate(timeout=120)[0]
    job.close()
    assert back.returncode == 0 and "it has nothing left to do with the others" in said, said
    assert not os.path.exists(state), os.listdir(state)
    codes, said = run(program, "again", 2, state, 0, output)
    assert codes == [0, 0] and "Training resumes" not in said and numbers(output) == expected, said


def check_parts(program, folder):
    """A worker that is killed between two strategies can't take part in the second one: all workers
    start again with the first."""
    for victim in (0, 1):
        chief_left = os.path.join(folder, f"chief{victim}")
        job = Workers(program, "parts", 2, chief_left, os.path.join(folder, f"parts{victim}"))
        other = job.start(1 - victim, 0)
        lost = job.start(victim, 1)
        said = [lost.communicate(timeout=120)[0]]
        assert lost.returncode == -signal.SIGKILL, said
        while os.path.getsize(job.ended) > 0 and other.poll() is None:  # until the second one begins
            time.sleep(0.01)
        assert other.poll() is None, other.communicate()
        back = job.start(victim, 0)
        said = [process.communicate(timeout=120)[0] for process in (other, back)]
        assert [other.returncode, back.returncode] == [1, 1], said
        for text in said:
            assert re.search(r"Cluster: the place in the program of worker [01] \(.*\) is \"strategy "
                             r"[12] since its start\", that of worker [01] \(.*\) is \"strategy [12] "
                             r"since its start\"\. All workers must run the same: start all of them "
                             r"again\.", text), said
        os.remove(chief_left)
        again = [job.start(index, 0) for index in range(2)]
        said = [process.communicate(timeout=120)[0] for process in again]
        assert [process.returncode for process in again] == [0, 0], said
        assert os.path.getsize(job.ended) > 0
        job.close()


def main():
    program, part = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        if part == "early":
            check_early(program, folder)
            return
        check_again(program, folder)
        check_own(program, folder)
        check_kept(program, folder)
        check_leaks(program, folder)
        check_over(program, folder)
        check_parts(program, folder)


if __name__ == "__main__":
    main()
