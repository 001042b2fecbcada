#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures Cornu beside Keras (TensorFlow) and PyTorch: the same trainings, in alternating rounds of
one run, and prints the ratios.

Every contender is a process of its own that trains an epoch when it is told to. Peers are tried in
all their forms (memory layouts, XLA, torch.compile); the fastest form of each goes on to the
measured rounds. A ratio is a round's time of the faster peer over Cornu's: above 1, Cornu is faster.

"serving": client threads ask one model for single predictions; requests a second and latency.

"replicas" is Cornu alone: two mirrored replicas on the CPU beside one device with all cores, at the
same global batch.

"startup" is Cornu alone: a process from its start to the end of the CNN's first training step on
MNIST's files, and the peak memory of an epoch.
"""
import argparse
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
WORKS = {
    "cnn": ("MNIST CNN (conv 32, pool, dense 64, dense 10), SGD, batch 64", 64, 150),
    "mlp": ("MLP 784-512-10, Adam, batch 128", 128, 200),
    "cifar": ("CIFAR CNN (32-32-pool-64-64-pool-512-10), Adam, batch 64", 64, 20),
    "mobilenet": ("MobileNetV2 of 96x96 images, Adam, batch 32", 32, 6),
    "resnet": ("ResNet50 of 64x64 images, SGD, batch 16", 16, 6),
}
FORMS = {
    "Keras": [("keras_steps.py", []), ("keras_steps.py", ["xla"])],
    "PyTorch": [("torch_steps.py", []), ("torch_steps.py", ["channels_last"]),
                ("torch_steps.py", ["compile"]), ("torch_steps.py", ["channels_last", "compile"])],
}


class Contender:
    """A process that trains an epoch for each line it is sent."""

    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.times = []

    def ready(self):
        for line in self.process.stdout:
            if line.strip() == "ready":
                return True
        return False

    def ask(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return [float(figure) for figure in self.process.stdout.readline().split()]

    def round(self):
        return self.ask()[0]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def start(name, command):
    contender = Contender(name, command)
    if not contender.ready():
        contender.close()
        return None
    return contender


def fastest_form(peer, work, batch, steps):
    best, best_time = None, None
    for script, arguments in FORMS[peer]:
        if work == "mlp" and "channels_last" in arguments:
            continue
        label = " ".join([peer] + arguments)
        contender = start(label, [sys.executable, os.path.join(HERE, "peers", script), work,
                                  str(batch), str(steps)] + arguments)
        if contender is None:
            print(f"  {label}: does not run here")
            continue
        time = min(contender.round() for _ in range(2))
        print(f"  {label}: {time:.3f} ms/step", flush=True)
        if best is None or time < best_time:
            if best:
                best.close()
            best, best_time = contender, time
        else:
            contender.close()
    return best


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})"


def compare(work, program, rounds):
    title, batch, steps = WORKS[work]
    print(f"{title}: the peers' forms", flush=True)
    contenders = [fastest_form(peer, work, batch, steps) for peer in FORMS]
    contenders = [contender for contender in contenders if contender]
    cornu = start("Cornu", [program, work, str(batch), str(steps)])
    if cornu is None:
        sys.exit(f"{program} does not run. Build it with ./run build.")
    for _ in range(rounds):
        for contender in [cornu] + contenders:
            contender.times.append(contender.round())
    print(f"{title}: {rounds} alternating rounds of {steps} steps; median (lowest-highest)")
    for contender in [cornu] + contenders:
        print(f"  {contender.name}: {spread(contender.times)} ms/step")
        contender.close()
    if contenders:
        ratios = [min(peer.times[i] for peer in contenders) / cornu.times[i]
                  for i in range(rounds)]
        print(f"  faster peer / Cornu: {spread(ratios)}", flush=True)


def serving(program, rounds):
    """Requests a second and their latency, with 1, 2 and 8 client threads."""
    peer = os.path.join(HERE, "peers", "torch_serving.py")
    for work, requests in (("mlp", 4000), ("cnn", 1000)):
        for clients in (1, 2, 8):
            arguments = [work, str(clients), str(requests // clients)]
            contenders = [start("Cornu", [program] + arguments),
                          start("PyTorch", [sys.executable, peer] + arguments)]
            if contenders[0] is None:
                sys.exit(f"{program} does not run. Build it with ./run build.")
            contenders = [contender for contender in contenders if contender]
            for _ in range(rounds):
                for contender in contenders:
                    contender.times.append(contender.ask())
            print(f"{work}, {clients} clients; median (lowest-highest)")
            for contender in contenders:
                rate, median, tail = zip(*contender.times)
                print(f"  {contender.name}: {spread(rate)} requests/s, latency {spread(median)} us,"
                      f" 99 % within {spread(tail)} us", flush=True)
                contender.close()


def replicas(program, rounds):
    """Throughput of two mirrored replicas over that of one device."""
    for work, batch, steps in (("cnn", 64, 150), ("cnn", 256, 40), ("mobilenet", 32, 6)):
        contenders = [start(name, [program, work, str(batch), str(steps)] + arguments)
                      for name, arguments in (("one device", []), ("2 replicas", ["2"]))]
        if None in contenders:
            sys.exit(f"{program} does not run. Build it with ./run build.")
        for _ in range(rounds):
            for contender in contenders:
                contender.times.append(contender.round())
        print(f"{work}, global batch {batch}; median (lowest-highest)")
        for contender in contenders:
            print(f"  {contender.name}: {spread(contender.times)} ms/step")
            contender.close()
        ratios = [one / two for one, two in zip(*(each.times for each in contenders))]
        print(f"  throughput of 2 replicas / one device: {spread(ratios)}", flush=True)


def startup(program, rounds):
    """Seconds to the first step (the process's exit included), and peak memory of one epoch."""
    def run(steps):
        begin = time.perf_counter()
        process = subprocess.Popen([program, str(steps)])
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            sys.exit(f"{program}: failed. It needs MNIST: set CORNU_DATASETS.")
        return time.perf_counter() - begin, usage.ru_maxrss / 1024

    run(1)  # the files are in the page cache from here on
    times = [run(1)[0] for _ in range(rounds)]
    print(f"CNN, process start to the end of the first step: {spread(times)} s")
    print(f"CNN, an epoch of MNIST: peak memory {run(938)[1]:.0f} MiB", flush=True)


def cpu_name():
    names = [line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo")
             if line.startswith(("model name", "cpu family", "model\t"))]
    return " / ".join(dict.fromkeys(names))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    works = [*WORKS, "serving", "replicas", "startup"]
    parser.add_argument("works", nargs="*", default=works, help="of: " + ", ".join(works))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--build", help="the build's folder", default=os.environ.get(
        "CORNU_BUILD_DIR", os.path.join(HERE, "..", "build")))
    arguments = parser.parse_args()
    unknown = set(arguments.works) - set(works)
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; there are: {', '.join(works)}")
    print(f"CPU: {cpu_name()}; {os.cpu_count()} cores")
    for work in arguments.works:
        if work == "startup":
            startup(os.path.join(arguments.build, "bin", "bench_startup"), arguments.rounds)
        elif work == "replicas":
            replicas(os.path.join(arguments.build, "bin", "bench_steps"), arguments.rounds)
        elif work == "serving":
            serving(os.path.join(arguments.build, "bin", "bench_serving"), arguments.rounds)
        else:
            compare(work, os.path.join(arguments.build, "bin", "bench_steps"), arguments.rounds)


if __name__ == "__main__":
    main()
