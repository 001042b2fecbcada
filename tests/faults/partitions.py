# SPDX-License-Identifier: Apache-2.0
"""Trains with several workers on separate machines (networks.py), drops packets between them at
some moment, and compares the outcome of the job with that of an undisturbed one.

usage: partitions.py PROGRAM [--runs N] [--kinds cut ...] [--workers 2 3] [--seed S]
  PROGRAM: multi_worker. --runs: for each number of workers. Phases come in turn, one per run, and
  with them ranks and kinds:
    cut      a worker is cut off for 20 s
    to       nothing reaches it for 20 s, but what it sends arrives
    from     nothing that it sends arrives for 20 s
    blink    it is cut off for 4 s: no worker is lost
    crash    its machine vanishes silently, and comes back after 1 s or 14 s
    pair     two of three workers can't reach each other for 20 s, but the third can reach both
"""
import random
import sys
import time

from jobs import SILENCE, Job, Report, arguments, check_reports, run_all, turn, undisturbed
from networks import Machines, why_not

KINDS = ["cut", "to", "from", "blink", "crash", "pair"]
CUT, BLINK = 20, 4  # seconds
STEPS = 40  # per epoch, so that there is time to cut cables
DEADLINE = 180
SKIPPED = 77


def ways(kind, rank, workers):
    """Pairs of ranks of which the first can't reach the second."""
    if kind == "pair":
        return [(1, 2), (2, 1)]
    others = [other for other in range(workers) if other != rank]
    to = [(other, rank) for other in others]
    away = [(rank, other) for other in others]
    return {"to": to, "from": away}.get(kind, to + away)


class Disturbance:
    def __init__(self, job, kind, rank, first_step, chance, report):
        self.job, self.kind, self.rank, self.chance, self.report = job, kind, rank, chance, report
        self.first_step = first_step
        self.ways = ways(kind, rank, len(job.lives))
        self.lives = job.now()
        self.victim = self.lives[rank]
        self.since = time.monotonic()

    def wait(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self.job.tend():
            time.sleep(0.01)

    def run(self):
        places = self.job.places
        for sender, receiver in self.ways:
            places.pass_packets(sender, receiver, False)
        time.sleep(0.2)  # for earlier messages to arrive
        self.trained = self.job.trains()
        self.written = self.job.state_time()
        # Over shared memory they continue training until they miss heartbeats.
        self.must_report = self.trained and not places.one_process_space
        if self.kind == "crash":
            self.victim.end()
            places.crash(self.rank)
            pause = self.chance.choice([1, 14])
            time.sleep(pause)
            places.boot(self.rank)
        else:
            self.wait(BLINK if self.kind == "blink" else CUT)
        for sender, receiver in self.ways:
            places.pass_packets(sender, receiver)
        healed = time.monotonic()
        if self.trained:
            self.job.wait_until(
                lambda: self.job.tend() or self.job.state_time() not in (0, self.written),
                "a new state")
            self.report.took(f"a new state came after a {self.kind}",
                             time.monotonic() - healed, self.first_step, self.job)
        self.job.finish()
        self.check()

    def check(self):
        job = self.job
        lost = any(life.when("is lost", self.since) for life in self.lives)
        if self.kind == "blink":
            if lost and self.trained:
                job.fail(f"a worker was lost that was cut off for {BLINK} s")
            return
        if self.kind == "pair":  # worker 0 drops one of the two, which then loses worker 0
            names, tell, ends = "[12]", self.lives[:1], self.lives[1:]
        else:
            names, tell = str(self.rank), [life for life in self.lives if life is not self.victim]
            ends = [self.victim] if self.kind in ("cut", "to", "from") else []
        for pattern, lives in [(names, tell), (r"\d+", ends)]:
            check_reports(job, pattern, lives, self.since, SILENCE, self.report,
                          required=self.must_report)


def kinds_for(workers, kinds):
    return [kind for kind in kinds if kind != "pair" or workers > 2]


def all_runs(options, report):
    chance = random.Random(options.seed)
    for workers in options.workers:
        expected, seconds = undisturbed(options.program, workers, Machines(workers), STEPS)
        for run in range(options.runs):
            kinds = kinds_for(workers, options.kinds)
            kind, phase, rank = turn(run, kinds, options.phases, workers)
            # Workers that share memory lose nothing but each other's heartbeats.
            shares = run % 5 == 4 and kind != "pair"

            def job_of(folder, workers=workers, kind=kind, phase=phase, rank=rank, shares=shares):
                places = Machines(workers, one_process_space=shares)
                with Job(options.program, workers, folder, places, STEPS, DEADLINE) as job:
                    job.wait_for_phase(phase, chance, seconds)
                    Disturbance(job, kind, rank, options.first_step, chance, report).run()
                    if job.outcome() != expected:
                        job.fail("the weights differ from those of a run without a partition")
                    report.count["killed after all had left"] += job.after_the_end()
                    report.count["workers started again"] += sum(
                        len(lives) - 1 for lives in job.lives)
                report.count[f"{kind} runs"] += 1
            yield (f"{kind} of worker {rank} of {workers}{', which share memory' * shares}, in "
                   f"phase '{phase}'", job_of)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    options = parser.parse_args()
    reason = why_not()
    if reason:
        print(f"skipped: partitions need network namespaces, which can't be made here: {reason}")
        sys.exit(SKIPPED)
    report = Report()
    run_all(all_runs(options, report), options, report)


if __name__ == "__main__":
    main()
