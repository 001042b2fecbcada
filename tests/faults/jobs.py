# SPDX-License-Identifier: Apache-2.0
"""Jobs of several workers that tests disturb, and checks of the outcome.

A worker that ends as one ends that is to come back (killed, terminated, unfinished) is started
again, as a launcher does it. A job's places say where workers run: here (Loopback), or in networks
of their own (networks.py).
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
DEADLINE = 120  # seconds for a whole job, after which it counts as hung
REPORT = 5  # seconds within which survivors know that a worker's process is gone
SILENCE = 15  # the same, when nothing signals that it is gone: it is stopped or cut off
FIRST_STEP = 10  # seconds from a restart to the first new state
MOST_STARTS = 8  # per worker
TERMINATED, UNFINISHED = 143, 75
SECONDS_AFTER = {  # the beginning of a phase: within how many seconds of it a fault comes
    "rendezvous": 0.4, "trace": 0.5, "checkpoint": 0.01, "epoch end": 0.05, "shutdown": 0.3}


class Failure(Exception):
    pass


class Loopback:
    """Each worker has a port on this machine for the whole job."""

    def __init__(self, workers):
        # Each life listens on its own socket.
        self.reserved = [self.bound_socket(0) for _ in range(workers)]
        self.addresses = ["127.0.0.1:%d" % one.getsockname()[1] for one in self.reserved]

    @staticmethod
    def bound_socket(port):
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(("127.0.0.1", port))
        return one

    def start(self, rank, line, environment):
        with self.bound_socket(self.reserved[rank].getsockname()[1]) as own:
            return subprocess.Popen(
                line, env=dict(environment, CORNU_LISTEN_FD=str(own.fileno())),
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                pass_fds=[own.fileno()])

    def close(self):
        for one in self.reserved:
            one.close()


class Life:
    """One process of a worker, and its output lines with their times."""

    def __init__(self, job, rank):
        environment = dict(
            os.environ, OMP_NUM_THREADS="1", GOMP_SPINCOUNT="0", TMPDIR=job.temporary,
            CORNU_ENDED_FILE=job.ended, TF_CONFIG=json.dumps({"cluster": {"worker": job.places.addresses},
                                  "task": {"type": "worker", "index": rank}}))
        self.rank = rank
        self.lines = []
        self.began = time.monotonic()
        self.process = job.places.start(rank, job.line, environment)
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
        """The time of its first output line that matches this text."""
        return next((at for at, line in list(self.lines) if at >= since and re.search(text, line)),
                    None)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()


def being_written(folder):
    """State files that are being written there, or were when their writers ended."""
    try:
        return set(os.listdir(folder)) - {"run_state", "run_state.previous", "run_state.lock"}
    except FileNotFoundError:
        return set()


class Job:
    def __init__(self, program, workers, folder, places=None, steps=STEPS, deadline=DEADLINE,
                 epochs=EPOCHS):
        self.folder = folder
        self.temporary = os.path.join(folder, "temporary")
        os.mkdir(self.temporary)
        self.state = os.path.join(folder, "state")
        self.ended = os.path.join(folder, "ended")
        open(self.ended, "w").close()
        self.saved = os.path.join(folder, "model.keras")
        self.epochs = epochs
        self.line = [program, "--synthetic", "--epochs", str(epochs), "--steps-per-epoch",
                     str(steps), "--batch-size", "16", "--checkpoint-dir", self.state,
                     "--checkpoint-every", str(STATE_EVERY), "--save", self.saved]
        self.places = places or Loopback(workers)
        self.most_starts = MOST_STARTS
        self.began = time.monotonic()
        self.end = self.began + deadline
        self.lives = []
        for rank in range(workers):
            self.lives.append([Life(self, rank)])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for life in (life for lives in self.lives for life in lives):
            life.end()
        self.places.close()

    def now(self):
        return [lives[-1] for lives in self.lives]

    def fail(self, what):
        text = "".join(f"--- worker {life.rank}, code {life.process.poll()}\n"
                       + "".join(f"{at - self.began:8.3f} {line}\n" for at, line in life.lines)
                       for lives in self.lives for life in lives)
        raise Failure(f"{time.monotonic() - self.began:.3f} {what}\n{text}")

    def wait_until(self, happened, what):
        while not happened():
            if time.monotonic() > self.end:
                self.fail(f"{what}: not within {self.end - self.began:.0f} s")
            time.sleep(0.001)

    def start(self, rank, why):
        if len(self.lives[rank]) >= self.most_starts:
            self.fail(f"worker {rank} was started {self.most_starts} times, the last time after "
                      f"{why}")
        self.lives[rank].append(Life(self, rank))

    def tend(self):
        """Restarts workers that have failed; returns whether the job has ended."""
        codes = [life.code() for life in self.now()]
        for rank, code in enumerate(codes):
            if code in (1, TERMINATED, UNFINISHED, -signal.SIGKILL, -signal.SIGTERM):
                self.start(rank, f"code {code}")
            elif code not in (0, None):
                self.fail(f"worker {rank} ended with {code}")
        return all(code == 0 for code in codes)

    def finish(self):
        self.wait_until(self.tend, "the job's end")

    def after_the_end(self):
        """Whether a worker was restarted after all others had left."""
        return any(life.when("it has nothing left to do") for life in self.now())

    def outcome(self):
        """A hash of the weights; checks that nothing else is left."""
        left = sorted(os.listdir(self.folder)) + os.listdir(self.temporary)
        # A chief that is lost after all workers have left has no chance to remove its state.
        if self.after_the_end() and "state" in left:
            left.remove("state")
        if left != ["ended", "model.keras", "temporary"]:
            self.fail(f"the job has left {left}")
        with zipfile.ZipFile(self.saved) as archive:
            return hashlib.sha256(archive.read("model.weights.h5")).hexdigest()

    # ---- moments ----

    def state_time(self):
        try:
            return os.stat(os.path.join(self.state, "run_state")).st_mtime_ns
        except FileNotFoundError:
            return 0

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
            return chief.when(f"Epoch {self.epochs}/") is not None
        if phase == "checkpoint" and not being_written(self.state):
            return chief.code() is not None
        return self.state_time() > 0

    def wait_for_phase(self, phase, chance, seconds):
        """Returns at a random moment within the phase."""
        self.wait_until(lambda: self.begins(phase), phase)
        time.sleep(max(0, chance.uniform(0, SECONDS_AFTER.get(phase, seconds))))

    def trains(self):
        """Whether all workers are in a group and have steps left."""
        return self.state_time() > 0 and self.lives[0][0].when(f"Epoch {self.epochs}/") is None


def undisturbed(program, workers, places=None, steps=STEPS, deadline=DEADLINE):
    """The outcome of a job, and for how many seconds it takes steps."""
    with tempfile.TemporaryDirectory() as folder, Job(
            program, workers, folder, places, steps, deadline) as job:
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
        what = f"seconds until {what}"
        self.longest[what] = max(self.longest[what], seconds)
        if seconds > limit:
            job.fail(f"{what}: {seconds:.1f}, expected at most {limit}")

    def text(self):
        return ", ".join([f"{name}: {count}" for name, count in sorted(self.count.items())] + [
            f"{what} {figure:.2f} at most" for what, figure in sorted(self.longest.items())])


def check_reports(job, lost, survivors, since, limit, report, required=False):
    """Workers that were in a group with the lost ones (a pattern of ranks) must report the loss in
    time. If their own part may have been done, they needn't report it, unless it is `required`."""
    for life in survivors:
        at = life.when(rf"worker {lost} \(\S+ (is lost|to come back)", since)
        if at is not None:
            report.took("a loss was reported", at - since, limit, job)
            report.count["losses reported"] += 1
        elif required:
            job.fail(f"worker {life.rank} hasn't said that worker {lost} is lost")


def no_children():
    """Whether none of the processes that were started is left, dead or alive."""
    try:
        return os.waitpid(-1, os.WNOHANG) is None
    except ChildProcessError:
        return True


def arguments(description):
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--phases", nargs="+", default=PHASES, choices=PHASES)
    parser.add_argument("--seed", type=int, default=random.randrange(2**31))
    parser.add_argument("--logs", help="a folder for what failing jobs said: the others go on")
    parser.add_argument("--first-step", type=float, default=FIRST_STEP,
                        help="seconds in which a worker that was started again has taken a step")
    return parser


def turn(run, kinds, phases, workers):
    """The kind, the phase and the rank of a run. Consecutive runs have different phases; eventually
    each kind meets each phase, on each rank."""
    in_turn, place = divmod(run, len(phases))
    return (kinds[(place + in_turn) % len(kinds)], phases[place],
            (place + in_turn // len(kinds)) % workers)


def run_all(runs, options, report):
    """Runs each of these pairs (a description, a function of a folder that may raise Failure)."""
    print(f"seed {options.seed}", flush=True)
    failures = 0
    for number, (what, run) in enumerate(runs):
        try:
            with tempfile.TemporaryDirectory() as folder:
                run(folder)
            if not no_children():
                raise Failure("a process is left")
        except Failure as failure:
            failures += 1
            text = f"run {number}, seed {options.seed}: {what}: {failure}"
            if not options.logs:
                sys.exit(f"{text}\nso far: {report.text()}")
            os.makedirs(options.logs, exist_ok=True)
            with open(os.path.join(options.logs, f"{options.seed}-{number}.log"), "w") as log:
                log.write(text)
            print(text.split("\n")[0], flush=True)
    if failures:
        sys.exit(f"{failures} of {number + 1} runs failed: {options.logs}. {report.text()}")
    print(f"no hang, and the same weights as without a fault. {report.text()}")
