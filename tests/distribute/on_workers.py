# SPDX-License-Identifier: Apache-2.0
"""Runs one program as several concurrent workers of a cluster on this machine; fails when one of
them does, and shows its output.

usage: on_workers.py [--workers N] [--replicas R] [--most-lines L] PROGRAM ARGUMENTS...
  --most-lines: the maximum number of lines that each may write.
"""
import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

SECONDS = 280


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--most-lines", type=int)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()

    # Bound here, so that no other process takes them, and listened on by the workers.
    sockets = [socket.socket() for _ in range(options.workers)]
    for own in sockets:
        own.bind(("127.0.0.1", 0))
    addresses = [f"127.0.0.1:{own.getsockname()[1]}" for own in sockets]
    cores = len(os.sched_getaffinity(0))
    threads = max(1, cores // (options.workers * options.replicas)) * options.replicas

    processes = []
    for index, own in enumerate(sockets):
        environment = dict(
            os.environ, CORNU_TEST_REPLICAS=str(options.replicas),
            CORNU_LISTEN_FD=str(own.fileno()), OMP_NUM_THREADS=str(threads), GOMP_SPINCOUNT="0",
            TF_CONFIG=json.dumps({"cluster": {"worker": addresses},
                                  "task": {"type": "worker", "index": index}}))
        output = tempfile.TemporaryFile()
        processes.append((subprocess.Popen(options.command, env=environment, stdout=output,
                                           stderr=subprocess.STDOUT, pass_fds=[own.fileno()]),
                          output))

    # When one has failed, the others have nothing to wait for.
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        codes = [process.poll() for process, _ in processes]
        if None not in codes or any(codes):
            break
        time.sleep(0.02)
    codes = [process.poll() for process, _ in processes]
    for process, _ in processes:
        if process.poll() is None:
            process.kill()
            process.wait()
    for index, (process, output) in enumerate(processes):
        output.seek(0)
        lines = output.read().count(b"\n")
        if options.most_lines is not None and lines > options.most_lines:
            codes[index] = f"{lines} lines, expected at most {options.most_lines}"
        output.seek(0)
        if any(codes) or None in codes or index == 0:
            print(f"--- worker {index}: {codes[index]}")
            print(output.read().decode(errors="replace"))
    sys.exit(codes != [0] * options.workers)


if __name__ == "__main__":
    main()
