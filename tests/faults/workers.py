# SPDX-License-Identifier: Apache-2.0
"""Trains with several workers, kills, terminates or stops one of them, restarts whatever ended as a
launcher does, and compares the outcome of the job with that of an undisturbed one.

Half of the runs aim at a phase by the workers' output or files: the rendezvous, the first trace,
the writing of a state, an epoch's end, the shutdown; the others take any moment of the training, so
that they hit forward passes, all-reduces and optimizers in proportion to their time.

usage: workers.py PROGRAM [--runs N] [--stops N] [--workers 2 3] [--seed S]
  PROGRAM: multi_worker. --runs, --stops: SIGKILL (every fifth one SIGTERM) and SIGSTOP, for each
  number of workers. Phases and ranks come in turn.
"""
import random
import signal
import time

from jobs import (REPORT, SILENCE, TERMINATED, Job, Report, arguments, check_reports,
                  run_all, undisturbed)


def disturb(job, rank, phase, kind, chance, seconds, options, report):
    job.wait_for_phase(phase, chance, seconds)
    victim = job.now()[rank]
    survivors = [life for life in job.now() if life is not victim]
    since = time.monotonic()
    written = job.state_time()
    trained = job.trains() and victim.code() is None
    if victim.code() is None:
        victim.process.send_signal(kind)
    if kind == signal.SIGSTOP:
        # The launcher doesn't know: the worker ends only when it continues, and is then restarted.
        time.sleep(options.stop_seconds)
        victim.process.send_signal(signal.SIGCONT)
    else:
        job.wait_until(lambda: victim.code() is not None, "the end of a killed worker")
    restarted = time.monotonic()
    if trained and kind == signal.SIGKILL:
        job.tend()
        job.wait_until(lambda: job.tend() or job.state_time() not in (0, written), "a new state")
        report.took("a new state came", time.monotonic() - restarted, options.first_step, job)
    job.finish()
    check_reports(job, rank, survivors, since, SILENCE if kind == signal.SIGSTOP else REPORT, report,
                  required=trained and kind != signal.SIGTERM)
    if kind == signal.SIGTERM and trained and victim.code() != TERMINATED:
        job.fail(f"worker {rank} ended with {victim.code()} after SIGTERM")
    if kind == signal.SIGSTOP and trained and not victim.when("was suspended for"):
        job.fail(f"worker {rank} stood still, and hasn't been fenced")
    report.count["killed after all had left"] += job.after_the_end()
    report.count["workers started again"] += sum(len(lives) - 1 for lives in job.lives)


def all_runs(options, report):
    chance = random.Random(options.seed)
    for workers in options.workers:
        expected, seconds = undisturbed(options.program, workers)
        for run in range(options.runs + options.stops):
            phase = options.phases[run % len(options.phases)]
            rank = (run % len(options.phases) + run // len(options.phases)) % workers
            kind = signal.SIGTERM if run % 5 == 4 else signal.SIGKILL
            if run >= options.runs:
                kind = signal.SIGSTOP

            def job_of(folder, workers=workers, rank=rank, phase=phase, kind=kind):
                with Job(options.program, workers, folder) as job:
                    disturb(job, rank, phase, kind, chance, seconds, options, report)
                    if job.outcome() != expected:
                        job.fail("the weights differ from those of a run without a signal")
                report.count[f"{kind.name} runs"] += 1
            yield f"{kind.name} to worker {rank} of {workers} in phase '{phase}'", job_of


def main():
    parser = arguments(__doc__)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--stops", type=int, default=0)
    parser.add_argument("--stop-seconds", type=float, default=15)
    options = parser.parse_args()
    report = Report()
    run_all(all_runs(options, report), options, report)


if __name__ == "__main__":
    main()
