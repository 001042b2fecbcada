# SPDX-License-Identifier: Apache-2.0
"""The part of compare.py for jobs of several processes: their all-reduce compared with gloo's, and
training with two workers compared with two independent processes.
"""
import json
import os
import statistics
import subprocess
import sys

from contenders import Contender, free_ports, need, spread, start_job

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = [4 << 10, 1 << 20, 16 << 20, 100 << 20]  # of all-reduces
TRAININGS = {  # batch of one process, steps per round
    "cnn": ("MNIST CNN (conv 32, pool, dense 64, dense 10), SGD", 64, 150),
    "embedding": ("8 of 100000 rows of 64, dense 64, dense 10, SGD", 64, 200),
    "mobilenet": ("MobileNetV2 of 96x96 images, Adam", 16, 8),
}
OF_TENSORFLOW = ("cnn", "embedding")  # trainings that tf_workers.py has
SERVED = {  # steps per round
    "mlp": ("dense 784-128-10, SGD, batch 64", 500),
    "embedding": ("8 of 100000 rows of 64, dense 10, SGD, batch 64", 200),
}
EPOCH = 60_000  # images, as many as MNIST has


def peer(script):
    return [sys.executable, os.path.join(HERE, "peers", script)]


class ServedJob:
    """Two workers, `servers` parameter servers, and the chief, which measures."""

    def __init__(self, name, command, servers):
        addresses = [f"127.0.0.1:{port}" for port in free_ports(3 + servers)]
        cluster = {"chief": addresses[:1], "worker": addresses[1:3], "ps": addresses[3:]}
        settings = lambda task, index: {
            "OMP_NUM_THREADS": "1", "GOMP_SPINCOUNT": "0",
            "TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": task, "index": index}})}
        self.others = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env={**os.environ, **settings(task, index)})
                       for task in ("ps", "worker") for index in range(len(cluster[task]))]
        self.chief = Contender(name, command, settings("chief", 0))

    def close(self):
        self.chief.close()
        for task in self.others:  # TensorFlow's tasks don't end by themselves
            task.kill()
            task.wait()


def parameter_servers(program, rounds):
    """Steps that two workers run for a coordinator, compared with TensorFlow's."""
    print("Steps of two workers with parameter servers, one thread each: steps/s of both together")
    print("| step | servers | Cornu | TensorFlow | Cornu / TensorFlow |")
    print("|---|---|---|---|---|")
    for work, (title, count) in SERVED.items():
        for servers in (1, 2):
            commands = [("Cornu", [program, work, str(count)]),
                        ("TensorFlow", [*peer("tf_parameter_servers.py"), work, str(count)])]
            jobs = [ServedJob(name, command, servers) for name, command in commands]
            own, *others = [job.chief for job in jobs if job.chief.ready()] or [None]
            need(own, program)
            rates = [[1e3 / each.round() for each in (own, *others)] for _ in range(rounds)]
            cells = [spread(rate, 0) for rate in zip(*rates)]
            ratio = spread([each[0] / each[1] for each in rates]) if others else "-"
            print(f"| {title} | {servers} | {' | '.join((cells + ['-'])[:2])} | {ratio} |", flush=True)
            for job in jobs:
                job.close()


def calls_of(size):
    """The number of calls to time."""
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
    """A table row from the rounds' times of shared memory, TCP and gloo (which may be missing)."""
    cells = []
    for own in zip(*times):
        cells += [spread(own), f"{size / statistics.median(own) / 1e3:.2f}"]
    if len(times[0]) < 3:
        return " | ".join(cells + ["-"] * 4)
    return " | ".join(cells + [spread([each[2] / each[i] for each in times]) for i in (0, 1)])


def distribute(program, rounds):
    all_reduces(program, rounds)
    steps = os.path.join(os.path.dirname(program), "bench_steps")
    for work, (title, batch, count) in TRAININGS.items():
        rows = settings("Cornu", lambda size, *how, work=work, count=count: [
            steps, work, str(size), str(count), *how], batch)
        need(rows or None, steps)
        if work in OF_TENSORFLOW:
            rows += settings("TensorFlow", lambda size, *_, work=work, count=count: [
                *peer("tf_workers.py"), work, str(size), str(count)], batch)
        for _ in range(rounds):
            for row in rows:
                row.measure()
        print(f"{title}: processes of one thread, each on a core of its own; images/s, seconds an "
              f"epoch\nof {EPOCH} images, throughput over that of one process, and of two that "
              "train alone at once")
        print("| | images in a step | images/s | s an epoch | / one | / two alone |")
        print("|---|---|---|---|---|---|")
        for row in rows:
            print(row.text(), flush=True)
            row.job.close()


class Setting:
    """Processes that train, and their total images per second, by round. `one` and `two`: the
    settings that it is compared with."""

    def __init__(self, name, job, images, one=None, two=None):
        self.name, self.job, self.images = name, job, images  # images: in a step of all processes
        self.one, self.two = one or self, two or self
        self.rates = []

    def measure(self):
        own = self.images / len(self.job.members)  # per process, whether they work together or not
        self.rates.append(sum(own / milliseconds * 1e3 for milliseconds in self.job.ask()))

    def text(self):
        ratio = lambda other: spread([own / its for own, its in zip(self.rates, other.rates)])
        epochs = [EPOCH / rate for rate in self.rates]
        return (f"| {self.name} | {self.images} | {statistics.median(self.rates):.0f} "
                f"({min(self.rates):.0f}-{max(self.rates):.0f}) | {spread(epochs)} "
                f"| {ratio(self.one)} | {ratio(self.two)} |")


def settings(name, command, batch):
    """Trainings with one process, with two alone, and with two workers; `batch` is that of one
    process. command(batch of all workers, "workers" if there are several). Empty if one doesn't
    run."""
    pinned = {"settings": {"OMP_NUM_THREADS": "1"}, "pinned": True}
    jobs = [start_job(name, command(batch), 1, alone=True, **pinned),
            start_job(name, command(batch), 2, alone=True, **pinned),
            start_job(name, command(2 * batch, "workers"), 2, **pinned),
            start_job(name, command(batch, "workers"), 2, **pinned)]
    if None in jobs:
        print(f"{name}: does not run here")
        for job in jobs:
            if job:
                job.close()
        return []
    one = Setting(f"{name}, one process", jobs[0], batch)
    two = Setting(f"{name}, two alone", jobs[1], 2 * batch, one)
    one.two = two
    each = Setting(f"{name}, 2 workers, each with that batch", jobs[2], 2 * batch, one, two)
    return [one, two, each,
            Setting(f"{name}, 2 workers, that batch in all", jobs[3], batch, one, two)]
