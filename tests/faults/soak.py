# SPDX-License-Identifier: Apache-2.0
"""Trains with two workers for a long time, with a random fault (SIGKILL, SIGTERM, SIGSTOP for 12 s)
in one of them every 20 s. Every job must end with the weights of an undisturbed one; no process and
no file may be left; and workers that survive faults must not grow in resident memory, open files or
threads (/proc/PID, every second; medians of the second and of the last quarter of their lives).

usage: soak.py PROGRAM [--minutes 30] [--seed S]
  PROGRAM: multi_worker. Jobs run one after another: each has steps for about a quarter of the time.
"""
import collections
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from jobs import (EPOCHS, STEPS, Failure, Job, Report, arguments, no_children, undisturbed)

EVERY, STANDS_STILL = 20, 12  # seconds
FAULTS = [signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP]
LONG_LIFE = 60  # seconds that a worker must live for its growth to be judged
GROWTH = {"KiB": 8192, "files": 8, "threads": 4}  # at most
WORKERS = 2


def sample(pid):
    """A process's current resources; None if it has ended."""
    try:
        with open(f"/proc/{pid}/status") as status:
            fields = dict(line.split(":", 1) for line in status)
        return {"KiB": int(fields["VmRSS"].split()[0]), "threads": int(fields["Threads"]),
                "files": len(os.listdir(f"/proc/{pid}/fd"))}
    except (FileNotFoundError, ProcessLookupError, KeyError):
        return None


class Watch:
    """The resources of workers over their lives."""

    def __init__(self):
        self.samples = collections.defaultdict(list)
        self.next = 0.0

    def look(self, job):
        if time.monotonic() < self.next:
            return
        self.next = time.monotonic() + 1
        for life in job.now():
            found = sample(life.process.pid)
            if found:
                self.samples[life].append(found)

    def judge(self, job, report):
        for life, samples in self.samples.items():
            count = len(samples)
            for what, most in GROWTH.items():
                values = [found[what] for found in samples]
                report.longest[f"most {what}"] = max(report.longest[f"most {what}"], *values)
                if count < LONG_LIFE:
                    continue
                growth = (statistics.median(values[-(count // 4):])
                          - statistics.median(values[count // 4:count // 2]))
                report.longest[f"growth of {what}"] = max(
                    report.longest[f"growth of {what}"], growth)
                if growth > most:
                    job.fail(f"worker {life.rank} has grown by {growth} {what} in {count} s")
            report.count["long lives"] += count >= LONG_LIFE
        self.samples.clear()


def soak(job, until, chance, report):
    watch = Watch()
    next_fault = time.monotonic() + EVERY * chance.random()
    stopped = None
    while not job.tend():
        now = time.monotonic()
        if now > job.end:
            job.fail("the job doesn't end")
        watch.look(job)
        if stopped and now > stopped[1]:
            stopped[0].process.send_signal(signal.SIGCONT)
            stopped = None
        if next_fault < now < until:
            next_fault += EVERY
            victim = chance.choice(job.now())
            fault = chance.choice(FAULTS)
            if victim.code() is None:
                victim.process.send_signal(fault)
                report.count[fault.name] += 1
                if fault == signal.SIGSTOP:
                    stopped = victim, now + STANDS_STILL
        time.sleep(0.01)
    watch.judge(job, report)


OWN_SHARED_MEMORY = ["unshare", "--mount", "sh", "-c",
                     'mount -t tmpfs own /dev/shm && exec "$@"', "sh"]


def own_shared_memory():
    """Restarts this program with a private /dev/shm, where that is possible."""
    if os.environ.get("CORNU_SOAK_HAS_OWN") or subprocess.run(
            OWN_SHARED_MEMORY + ["true"], capture_output=True).returncode:
        return
    os.environ["CORNU_SOAK_HAS_OWN"] = "1"
    os.execvp(OWN_SHARED_MEMORY[0], OWN_SHARED_MEMORY + [sys.executable] + sys.argv)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    options = parser.parse_args()
    own_shared_memory()
    print(f"seed {options.seed}", flush=True)
    chance = random.Random(options.seed)
    report = Report()
    shared = set(os.listdir("/dev/shm"))
    start = time.monotonic()
    try:
        _, seconds = undisturbed(options.program, WORKERS, steps=20 * STEPS)
        steps = max(STEPS, int(options.minutes * 60 / 4 / seconds * 20 * STEPS))
        expected, _ = undisturbed(options.program, WORKERS, steps=steps,
                                  deadline=options.minutes * 60)
        until = time.monotonic() + options.minutes * 60
        while time.monotonic() < until:
            with tempfile.TemporaryDirectory() as folder, Job(
                    options.program, WORKERS, folder, steps=steps,
                    deadline=options.minutes * 120) as job:
                job.most_starts = 10**6
                soak(job, until, chance, report)
                if job.outcome() != expected:
                    job.fail("the weights differ from those of a job that nobody disturbs")
                report.count["workers started again"] += sum(len(own) - 1 for own in job.lives)
            if not no_children():
                raise Failure("a process is left")
            report.count["jobs"] += 1
            print(f"{time.monotonic() - start:.0f} s: {report.text()}", flush=True)
    except Failure as failure:
        sys.exit(f"seed {options.seed}: {failure}\nso far: {report.text()}")
    left = set(os.listdir("/dev/shm")) - shared
    if left:
        sys.exit(f"/dev/shm has new files: {sorted(left)}")
    print(f"{options.minutes:g} minutes, {EPOCHS * steps} steps a job: {report.text()}")


if __name__ == "__main__":
    main()
