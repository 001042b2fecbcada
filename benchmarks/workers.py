# SPDX-License-Identifier: Apache-2.0
"""What compare.py measures of jobs of several processes: their all-reduce beside gloo's, and what
training by two of them gives beside two that know nothing of each other.
"""
import os
import statistics
import sys

from contenders import need, spread, start_job

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = [4 << 10, 1 << 20, 16 << 20, 100 << 20]  # of all-reduces


def peer(script):
    return [sys.executable, os.path.join(HERE, "peers", script)]


def calls_of(size):
    """As many calls as are worth timing."""
    return min(max((192 << 20) // size, 4), 1000)


def all_reduces(program, rounds):
    """Sums of float32 over 2 and 4 processes: Cornu's over shared memory and TCP, and gloo's."""
    print("All-reduces of N bytes of float32 between processes of this machine, in place: "
          "microseconds,\nand N over the median; gloo's time over Cornu's, of the same round")
    print("| processes | N | shared memory | GB/s | TCP | GB/s | gloo (TCP) | GB/s "
          "| gloo / shared memory | gloo / TCP |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for workers in (2, 4):
        jobs = [need(start_job("Cornu", [program, how], workers), program)
                for how in ("shared_memory", "tcp")]
        gloo = start_job("gloo", peer("gloo_all_reduce.py"), workers)
        for size in SIZES:
            line = f"all_reduce {size} {calls_of(size)}"
            times = [[max(job.ask(line)) for job in jobs + [gloo] * bool(gloo)]
                     for _ in range(rounds)]
            print(f"| {workers} | {bytes_name(size)} | {all_reduce_row(size, times)} |", flush=True)
        for job in jobs + [gloo] * bool(gloo):
            job.close()


def bytes_name(size):
    return f"{size >> 10} KiB" if size < 1 << 20 else f"{size >> 20} MiB"


def all_reduce_row(size, times):
    """Of the rounds' times of shared memory, TCP and gloo (which may not be here)."""
    cells = []
    for own in zip(*times):
        cells += [spread(own), f"{size / statistics.median(own) / 1e3:.2f}"]
    if len(times[0]) < 3:
        return " | ".join(cells + ["-"] * 4)
    return " | ".join(cells + [spread([each[2] / each[i] for each in times]) for i in (0, 1)])
