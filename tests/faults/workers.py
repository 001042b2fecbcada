# SPDX-License-Identifier: Apache-2.0
"""Trains by several workers, kills, terminates or stops one of them, starts again whatever ended as a
launcher does, and compares what the job leaves with what it leaves when nobody disturbs it.

Half of the runs aim at a phase by what workers say or write: the rendezvous, the first trace, the
writing of a state, an epoch's end, the shutdown; the others take any moment of the training, so that
they hit forward passes, all-reduces and optimizers as these take time.

usage: workers.py PROGRAM [--runs N] [--stops N] [--workers 2 3] [--seed S]
  PROGRAM: multi_worker. --runs: of each number of workers; --stops: how many of them are SIGSTOP.
"""
import argparse
import collections
import hashlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

EPOCHS, STEPS, STATE_EVERY = 2, 8, 3
PHASES = ["rendezvous", "trace", "forward", "all-reduce", "optimizer", "checkpoint", "epoch end",
          "shutdown"]
DEADLINE = 120  # seconds for a whole job, where a hang ends
REPORT = 5  # seconds in which survivors know that a worker is gone
STANDS_STILL = 15  # seconds that one is stopped; survivors know within as many
FIRST_STEP = 10  # seconds from a restart to the first state that is new
MOST_STARTS = 8  # of one worker
TERMINATED, UNFINISHED = 143, 75
SECONDS_AFTER = {  # the moment that a phase begins: how long after it a signal comes, at most
    "rendezvous": 0.4, "trace": 0.5, "checkpoint": 0.01, "epoch end": 0.05, "shutdown": 0.3}


class Failure(Exception):
    pass


class Life:
    """One process of a worker, and what it has said when."""

    def __init__(self, job, rank):
        own = job.bound_socket(job.ports[rank])
        environment = dict(
            os.environ, CORNU_LISTEN_FD=str(own.fileno()), OMP_NUM_THREADS="1", GOMP_SPINCOUNT="0",
            TMPDIR=job.temporary, TF_CONFIG=json.dumps(
                {"cluster": {"worker": [f"127.0.0.1:{port}" for port in job.ports]},
                 "task": {"type": "worker", "index": rank}}))
        self.rank = rank
        self.lines = []
        self.began = time.monotonic()
        self.process = subprocess.Popen(job.line, env=environment, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True,
                                        pass_fds=[own.fileno()])
        own.close()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append((time.monotonic(), line.rstrip()))

    def code(self):
        code = self.process.poll()
        if code is not None:
            self.reader.join()
            self.process.stdout.close()
        return code

    def when(self, text, since=0.0):
        """The moment when it first said something like this."""
        return next((at for at, line in list(self.lines) if at >= since and re.search(text, line)),
                    None)


class Job:
    def __init__(self, program, workers, folder):
        self.folder = folder
        self.temporary = os.path.join(folder, "temporary")
        os.mkdir(self.temporary)
        self.state = os.path.join(folder, "state")
        self.saved = os.path.join(folder, "model.keras")
        self.line = [program, "--synthetic", "--epochs", str(EPOCHS), "--steps-per-epoch",
                     str(STEPS), "--batch-size", "16", "--checkpoint-dir", self.state,
                     "--checkpoint-every", str(STATE_EVERY), "--save", self.saved]
        # A port is kept for the whole job; each life listens on a socket of its own.
        self.reserved = [self.bound_socket(0) for _ in range(workers)]
        self.ports = [one.getsockname()[1] for one in self.reserved]
        self.end = time.monotonic() + DEADLINE
        self.others_ended = None
        self.after_the_end = False
        self.lives = [[Life(self, rank)] for rank in range(workers)]

    @staticmethod
    def bound_socket(port):
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(("127.0.0.1", port))
        return one

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for one in self.reserved:
            one.close()
        for life in (life for lives in self.lives for life in lives):
            if life.process.poll() is None:
                life.process.kill()
            life.process.wait()
            life.reader.join()
            life.process.stdout.close()

    def now(self):
        return [lives[-1] for lives in self.lives]

    def fail(self, what):
        text = "".join(f"--- worker {life.rank}, code {life.process.poll()}\n"
                       + "".join(f"{at - self.end + DEADLINE:8.3f} {line}\n"
                                 for at, line in life.lines)
                       for lives in self.lives for life in lives)
        raise Failure(f"{what}\n{text}")

    def wait_until(self, happened, what):
        while not happened():
            if time.monotonic() > self.end:
                self.fail(f"{what}: not within {DEADLINE} s")
            time.sleep(0.001)

    def start(self, rank, why):
        if len(self.lives[rank]) >= MOST_STARTS:
            self.fail(f"worker {rank} was started {MOST_STARTS} times, the last time after {why}")
        self.lives[rank].append(Life(self, rank))

    def tend(self):
        """Starts again what has failed; whether the job has ended."""
        codes = [life.code() for life in self.now()]
        for rank, code in enumerate(codes):
            if self.waits_in_vain(rank, codes):
                self.after_the_end = True
                self.now()[rank].process.kill()
                return True
            if code in (1, TERMINATED, UNFINISHED, -signal.SIGKILL, -signal.SIGTERM):
                self.start(rank, f"code {code}")
            elif code not in (0, None):
                self.fail(f"worker {rank} ended with {code}")
        return all(code == 0 for code in codes)

    def waits_in_vain(self, rank, codes):
        """The others' programs have ended well: so all had left the job, this worker, too, before it
        was killed and started again."""
        if codes[rank] == 0 or any(codes[:rank] + codes[rank + 1:]) or codes.count(0) + 1 < len(codes):
            return False
        if self.others_ended is None:
            self.others_ended = time.monotonic()
        return self.now()[rank].when("waiting for worker", self.others_ended + 1) is not None

    def finish(self):
        self.wait_until(self.tend, "the job's end")

    def outcome(self):
        """Of the weights; nothing else may be left."""
        left = sorted(os.listdir(self.folder)) + os.listdir(self.temporary)
        if left != ["model.keras", "temporary"]:
            self.fail(f"the job has left {left}")
        with zipfile.ZipFile(self.saved) as archive:
            return hashlib.sha256(archive.read("model.weights.h5")).hexdigest()

    # ---- moments ----

    def state_time(self):
        try:
            return os.stat(os.path.join(self.state, "run_state")).st_mtime_ns
        except FileNotFoundError:
            return 0

    def writes(self):
        try:
            return any(name not in ("run_state", "run_state.previous", "run_state.lock")
                       for name in os.listdir(self.state))
        except FileNotFoundError:
            return False

    def begins(self, phase):
        """Whether the phase has begun, or is over."""
        chief = self.lives[0][0]
        if phase == "rendezvous":
            return True
        if phase == "trace":
            return os.path.exists(os.path.join(self.state, "run_state.lock"))
        if phase == "epoch end":
            return chief.when("Epoch 1/") is not None
        if phase == "shutdown":
            return chief.when(f"Epoch {EPOCHS}/") is not None
        if phase == "checkpoint" and not self.writes():
            return chief.code() is not None
        return self.state_time() > 0

    def wait_for_phase(self, phase, chance, seconds):
        """Returns in it, at a random moment."""
        self.wait_until(lambda: self.begins(phase), phase)
        time.sleep(max(0, chance.uniform(0, SECONDS_AFTER.get(phase, seconds))))


def undisturbed(program, workers):
    """What a job leaves, and for how many seconds it takes steps."""
    with tempfile.TemporaryDirectory() as folder, Job(program, workers, folder) as job:
        job.wait_until(lambda: job.begins("forward"), "the first state")
        first = time.monotonic()
        job.finish()
        if any(len(lives) > 1 for lives in job.lives):
            job.fail("a worker failed that nobody disturbed")
        return job.outcome(), job.now()[0].when(f"Epoch {EPOCHS}/") - first


class Report:
    def __init__(self):
        self.count = collections.Counter()
        self.longest = collections.defaultdict(float)

    def took(self, what, seconds, limit, job):
        self.longest[what] = max(self.longest[what], seconds)
        if seconds > limit:
            job.fail(f"{what} took {seconds:.1f} s, expected at most {limit} s")

    def text(self):
        return ", ".join([f"{name}: {count}" for name, count in sorted(self.count.items())] + [
            f"{what} {seconds:.2f} s at most" for what, seconds in sorted(self.longest.items())])


def check_reports(job, victim, survivors, since, limit, report):
    """Those who were in a group with the victim say that it is lost, unless their own part was done."""
    for life in survivors:
        at = life.when(f"worker {victim.rank} .*is lost", since)
        if at is not None:
            report.took("a loss was reported after", at - since, limit, job)
            report.count["losses reported"] += 1


def disturb(job, phase, kind, chance, seconds, report):
    rank = chance.randrange(len(job.lives))
    job.wait_for_phase(phase, chance, seconds)
    victim = job.now()[rank]
    survivors = [life for life in job.now() if life is not victim]
    since = time.monotonic()
    written = job.state_time()
    if victim.code() is None:
        victim.process.send_signal(kind)
    if kind == signal.SIGSTOP:
        # The launcher doesn't know: only when it goes on it ends, and is started again.
        time.sleep(STANDS_STILL)
        victim.process.send_signal(signal.SIGCONT)
    else:
        job.wait_until(lambda: victim.code() is not None, "the end of a killed worker")
    restarted = time.monotonic()
    trained = written > 0 and job.lives[0][0].when(f"Epoch {EPOCHS}/") is None
    if trained and kind == signal.SIGKILL:
        job.tend()
        job.wait_until(lambda: job.tend() or job.state_time() not in (0, written), "a new state")
        report.took("a new state came after", time.monotonic() - restarted, FIRST_STEP, job)
    job.finish()
    check_reports(job, victim, survivors, since,
                  STANDS_STILL if kind == signal.SIGSTOP else REPORT, report)
    if kind == signal.SIGTERM and trained and victim.code() != TERMINATED:
        job.fail(f"worker {rank} ended with {victim.code()} after SIGTERM")
    if kind == signal.SIGSTOP and trained and not victim.when("stood still for"):
        job.fail(f"worker {rank} stood still, and hasn't been fenced")
    report.count["killed after all had left"] += job.after_the_end
    report.count["workers started again"] += sum(len(lives) - 1 for lives in job.lives)


def no_children():
    """No process is left of those that were started, dead or alive."""
    try:
        return os.waitpid(-1, os.WNOHANG) is None
    except ChildProcessError:
        return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--stops", type=int, default=0)
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--phases", nargs="+", default=PHASES, choices=PHASES)
    parser.add_argument("--seed", type=int, default=random.randrange(2**31))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    chance = random.Random(options.seed)
    report = Report()
    for workers in options.workers:
        expected, seconds = undisturbed(options.program, workers)
        for run in range(options.runs + options.stops):
            phase = options.phases[run % len(options.phases)]
            kind = signal.SIGTERM if run % 5 == 4 else signal.SIGKILL
            if run >= options.runs:
                phase, kind = chance.choice(["forward", "epoch end"]), signal.SIGSTOP
            where = f"{workers} workers, run {run}: {kind.name} in phase '{phase}'"
            try:
                with tempfile.TemporaryDirectory() as folder, Job(
                        options.program, workers, folder) as job:
                    disturb(job, phase, kind, chance, seconds, report)
                    if job.outcome() != expected:
                        job.fail("the weights differ from those of a run without a signal")
                if not no_children():
                    raise Failure("a process is left")
            except Failure as failure:
                sys.exit(f"{where}: {failure}\nso far: {report.text()}")
            report.count[f"{kind.name} runs"] += 1
    print(f"no hang, and the same weights as without a signal. {report.text()}")


if __name__ == "__main__":
    main()
