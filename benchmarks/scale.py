#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How training scales to 1,024 workers: a model of a step's time, calibrated on 1 to 8 processes on
this machine, which wait instead of computing but really sum gradients, on networks with a rate and
a delay. Prints the model's error at points that it wasn't calibrated on, and the bucket size and
the algorithm that it would choose; writes its prediction as a picture. Needs root and Linux.
"""
import argparse
import dataclasses
import math
import os
import statistics

from contenders import start_job
from namespaces import MTU, Namespaces

HERE = os.path.dirname(os.path.abspath(__file__))
HEADER = 64  # bytes with which ranks compare their calls
PIECE = MTU  # bytes that arrive together, and are passed on while the rest of a chunk travels
SMALL = 64 << 10  # total bytes up to which every rank gets everything, and sums by itself
MESSAGE = 32 << 10  # bytes that travel in the time of an empty message, as Cornu assumes
KIB, MIB = 1 << 10, 1 << 20
BUCKETS = [64 * KIB << i for i in range(12)]
WORKERS = [1 << i for i in range(11)]


@dataclasses.dataclass(frozen=True)
class Network:
    rate: float  # bytes per second of a worker's link, each way
    delay: float  # seconds to any other worker


@dataclasses.dataclass(frozen=True)
class Step:
    compute: float  # seconds of forward and backward pass; a third of it is the forward pass
    jitter: float  # the mean of an exponentially distributed extra time, independent per worker
    bucket: int  # bytes
    buckets: int


@dataclasses.dataclass(frozen=True)
class Host:
    """The fitted parameters."""
    hop: float = 50e-6  # seconds until a rank handles what has arrived, besides the delay
    share: float = 0.95  # share of the link's rate that is available to data
    wake: float = 100e-6  # seconds per step, besides its parts
    copy: float = 0.0  # seconds per byte that a rank sends, receives and sums, without a network

    def latency(self, network):
        return network.delay + self.hop

    def per_byte(self, network):
        return max(1 / (self.share * network.rate), self.copy)


def ring(size, ranks, latency, per_byte):
    """Cornu's for many bytes: a header, then 2 (ranks - 1) steps with a chunk each. A chunk's first
    piece is passed on when it arrives: if a chunk takes longer than that, no link is idle."""
    chunk = size / ranks
    step = max(chunk * per_byte, latency + min(chunk, PIECE) * per_byte)
    return 2 * latency + 2 * (ranks - 1) * step


def gather(size, ranks, latency, per_byte):
    """Cornu's for few bytes: a rank passes on what it has received, in log2(ranks) steps."""
    steps = math.ceil(math.log2(ranks))
    return 2 * steps * latency + (ranks - 1) * (size + HEADER) * per_byte


def doubling(size, ranks, latency, per_byte):
    """Cornu's for sizes in between: a header, then in each step pairs of ranks exchange all they
    have; ranks beyond a power of two take two more steps."""
    steps = math.floor(math.log2(ranks)) + (0 if ranks & (ranks - 1) == 0 else 2)
    return (1 + steps) * latency + steps * size * per_byte


def cornu(size, ranks, latency, per_byte):
    """Cornu's choice over TCP, which doesn't depend on the network (distribute/collectives)."""
    if size * ranks <= SMALL:
        return gather(size, ranks, latency, per_byte)
    steps = math.floor(math.log2(ranks)) + (0 if ranks & (ranks - 1) == 0 else 2)
    message = size / MESSAGE
    if ranks > 2 and steps * (1 + message) < 2 * (ranks - 1) * (1 + message / ranks):
        return doubling(size, ranks, latency, per_byte)
    return ring(size, ranks, latency, per_byte)


def halving(size, ranks, latency, per_byte):
    """Recursive halving, then doubling (Rabenseifner): not in Cornu."""
    steps = math.ceil(math.log2(ranks))
    return (2 * steps + 1) * latency + 2 * (1 - 1 / ranks) * size * per_byte


def two_rings(size, ranks, latency, per_byte):
    """A ring within groups of about sqrt(ranks), and one across groups for each share: not in
    Cornu."""
    inner = 1 << math.ceil(math.log2(ranks) / 2)
    outer = ranks // inner
    time = ring(size, inner, latency, per_byte)
    return time if outer < 2 else time + ring(size / inner, outer, latency, per_byte)


ALGORITHMS = {"Cornu's": cornu, "ring": ring, "doubling": doubling, "two rings": two_rings,
              "halving": halving}


def all_reduce(size, ranks, network, host, algorithm=cornu):
    """Seconds."""
    if ranks == 1:
        return 0.0
    return algorithm(size, ranks, host.latency(network), host.per_byte(network))


def step_time(step, ranks, network, host, algorithm=cornu):
    """Seconds. Sums follow one another, each once the slowest rank has its gradients."""
    slowest = step.compute + step.jitter * sum(1 / k for k in range(1, ranks + 1))
    takes = all_reduce(step.bucket, ranks, network, host, algorithm)
    end = 0.0
    for i in range(step.buckets):
        end = max(end, slowest * (1 + 2 * (i + 1) / step.buckets) / 3) + takes
    return end + host.wake


# ---- measuring ----

@dataclasses.dataclass(frozen=True)
class Point:
    ranks: int
    network: Network
    work: object  # a Step, or the bytes of an all-reduce

    def line(self):
        if isinstance(self.work, int):
            return f"all_reduce {self.work} {max(2, min(20, MIB // self.work))}"
        step = self.work
        count = 40 if step.jitter else 6
        return (f"step {step.compute * 1e6} {step.jitter * 1e6} {step.bucket} {step.buckets} "
                f"{count}")

    def predicted(self, host):
        if isinstance(self.work, int):
            return all_reduce(self.work, self.ranks, self.network, host)
        return step_time(self.work, self.ranks, self.network, host)

    def text(self):
        work = self.work
        what = (f"all-reduce of {work // KIB} KiB" if isinstance(work, int) else
                f"step of {work.compute * 1e3:g} ms + {work.jitter * 1e3:g} ms, "
                f"{work.buckets} x {work.bucket // KIB} KiB")
        return (f"{self.ranks} | {self.network.rate / 125e3:g} Mbit/s, "
                f"{self.network.delay * 1e3:g} ms | {what}")


def points(ranks, networks, works):
    return [Point(count, network, work) for count in ranks for network in networks for work in works
            if count > 1 or isinstance(work, Step)]


def calibration_points():
    networks = [Network(50e6, 0), Network(50e6, 2e-3), Network(12.5e6, 0.5e-3)]
    works = [4 * KIB, 256 * KIB, 2 * MIB,
             Step(40e-3, 0, 512 * KIB, 4), Step(40e-3, 4e-3, 64 * KIB, 4)]
    return points((1, 2, 4, 8), networks, works)


def held_out_points():
    """Points that weren't used to choose anything in the model."""
    networks = [Network(30e6, 0.5e-3), Network(18e6, 1.5e-3)]
    works = [24 * KIB, 640 * KIB, Step(50e-3, 0, 768 * KIB, 3), Step(50e-3, 5e-3, 128 * KIB, 5)]
    return points((3, 5, 6, 7), networks, works)


def measure(namespaces, wanted, rounds):
    """Seconds by point: those of the least disturbed round, on its slowest rank."""
    found = {}
    for ranks in sorted({point.ranks for point in wanted}):
        with namespaces.job(ranks) as job:
            network = None
            for point in (each for each in wanted if each.ranks == ranks):
                if point.network != network:
                    network = point.network
                    namespaces.set(network.rate, network.delay)
                    job.ask(f"all_reduce {MIB} 8")  # lets TCP's windows open
                found[point] = min(max(job.ask(point.line())) for _ in range(rounds)) / 1e6
    return found


def copy_cost(build, rounds, size=16 * MIB):
    """Seconds per byte of a sum by two workers, over TCP without a limit, each on its own core."""
    program = os.path.join(build, "bin", "bench_distribute")
    job = start_job("Cornu", [program, "tcp"], 2, pinned=True)
    times = [max(job.ask(f"all_reduce {size} 8")) for _ in range(rounds)]
    job.close()
    return min(times) / 1e6 / size


# ---- fitting ----

def error(host, found):
    """The mean absolute log ratio: twice is as bad as half."""
    return statistics.fmean(abs(math.log(point.predicted(host) / seconds))
                            for point, seconds in found.items())


def fit(host, found):
    """Adjusts one parameter at a time, by ever smaller factors, while that reduces the error."""
    factor = 2.0
    while factor > 1.002:
        best = host
        for name in ("hop", "share", "wake"):
            for by in (factor, 1 / factor):
                value = getattr(host, name) * by
                if name == "share":
                    value = min(value, 1.0)
                tried = dataclasses.replace(host, **{name: value})
                if error(tried, found) < error(best, found):
                    best = tried
        if best == host:
            factor = math.sqrt(factor)
        host = best
    return host


# ---- predicting ----

@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    network: Network
    compute: float = 0.1
    jitter: float = 1e-3
    gradients: int = 100 * MIB

    def efficiency(self, ranks, host, bucket, algorithm):
        """Throughput per worker, relative to a worker that trains alone."""
        count = math.ceil(self.gradients / bucket)
        step = Step(self.compute, self.jitter, self.gradients // count, count)
        alone = self.compute + self.jitter + host.wake
        return alone / step_time(step, ranks, self.network, host, ALGORITHMS[algorithm])

    def best(self, ranks, host, algorithms):
        """Efficiency, bucket and algorithm; the simplest of those equal to a thousandth."""
        tried = [(round(self.efficiency(ranks, host, bucket, each), 3), -i, bucket)
                 for i, each in enumerate(algorithms) for bucket in BUCKETS]
        efficiency, i, bucket = max(tried)
        return efficiency, bucket, algorithms[-i]


CASES = [Case("10 Gbit/s, 50 us", Network(1.25e9, 50e-6)),
         Case("100 Gbit/s, 10 us", Network(12.5e9, 10e-6))]
CURVES = [("Cornu, 4 MiB", lambda case, ranks, host: case.efficiency(
               ranks, host, 4 * MIB, "Cornu's")),
          ("Cornu, best bucket", lambda case, ranks, host: case.best(ranks, host, ["Cornu's"])[0]),
          ("best algorithm", lambda case, ranks, host: case.best(ranks, host, [*ALGORITHMS])[0])]
COLOURS = ["#b03a2e", "#1f618d"]
DASHES = ["2 4", "8 4", "none"]


def picture(host):
    """The curves of all cases: efficiency over workers."""
    width, height, left, top = 640, 330, 60, 30
    at = lambda i, value: (left + i * (width - left - 20) / (len(WORKERS) - 1),
                           top + (1 - value) * (height - top - 60))
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + 110}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height + 110}" fill="white"/>',
           f'<text x="{left}" y="18">Predicted throughput of a worker over that of one alone'
           '</text>']
    for tenth in range(0, 11, 2):
        (x, y), (end, _) = at(0, tenth / 10), at(len(WORKERS) - 1, 0)
        out += [f'<path d="M{x:.0f} {y:.1f}H{end:.0f}" stroke="#ddd"/>',
                f'<text x="{x - 8:.0f}" y="{y + 4:.1f}" text-anchor="end">{tenth / 10:.1f}</text>']
    for i, ranks in enumerate(WORKERS):
        x, y = at(i, 0)
        out.append(f'<text x="{x:.1f}" y="{y + 18:.0f}" text-anchor="middle">{ranks}</text>')
    out.append(f'<text x="{width / 2}" y="{height - 22}" text-anchor="middle">workers</text>')
    y = height
    for case, colour in zip(CASES, COLOURS):
        for (name, curve), dash in zip(CURVES, DASHES):
            spots = [at(i, curve(case, ranks, host)) for i, ranks in enumerate(WORKERS)]
            style = f'fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"'
            path = "L".join(f"{x:.1f} {y:.1f}" for x, y in spots)
            out += [f'<path d="M{path}" {style}/>', f'<path d="M{left} {y}h40" {style}/>',
                    f'<text x="{left + 50}" y="{y + 4}">{case.name}: {name}</text>']
            y += 17
    return "\n".join(out + ["</svg>", ""])


def predictions(host):
    first = CASES[0]
    print(f"\nSteps of {first.compute * 1e3:g} ms and {first.jitter * 1e3:g} ms of jitter, "
          f"{first.gradients // MIB} MiB of gradients: throughput of a worker over that of one "
          "that is alone")
    print("| network | workers | Cornu, 4 MiB | Cornu, best bucket | best of all algorithms |")
    print("|---|---|---|---|---|")
    for case in CASES:
        for ranks in WORKERS[1:]:
            own = case.best(ranks, host, ["Cornu's"])
            best = case.best(ranks, host, [*ALGORITHMS])
            default = case.efficiency(ranks, host, 4 * MIB, "Cornu's")
            print(f"| {case.name} | {ranks} | {default:.3f} | {own[0]:.3f} ({own[1] // KIB} KiB) "
                  f"| {best[0]:.3f} ({best[2]}, {best[1] // KIB} KiB) |")


def report(title, found, host):
    errors = [abs(point.predicted(host) / seconds - 1) for point, seconds in found.items()]
    print(f"\n{title}: {len(found)} points; error {statistics.median(errors):.1%} in the median, "
          f"{statistics.fmean(errors):.1%} in the mean, {max(errors):.1%} at most")
    print("| workers | network | work | measured, ms | predicted, ms | error |")
    print("|---|---|---|---|---|---|")
    for point, seconds in found.items():
        predicted = point.predicted(host)
        print(f"| {point.text()} | {seconds * 1e3:.2f} | {predicted * 1e3:.2f} "
              f"| {predicted / seconds - 1:+.1%} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--picture", default="scale.svg", help="where the prediction is written")
    parser.add_argument("--copy", type=float, help="nanoseconds that a byte of a sum takes without a "
                        "network, where this machine is too busy to measure that now")
    parser.add_argument("--build", help="the build directory", default=os.environ.get(
        "CORNU_BUILD_DIR", os.path.join(HERE, "..", "build")))
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    if os.geteuid() != 0:
        parser.error("needs root, for network namespaces")
    os.nice(-20)  # they hardly compute, but should be on time
    calibration, held_out = calibration_points(), held_out_points()
    with Namespaces(build, 8) as namespaces:
        found = measure(namespaces, calibration + held_out, arguments.rounds)
    pick = lambda wanted: {point: found[point] for point in wanted}
    copy = arguments.copy / 1e9 if arguments.copy else copy_cost(build, arguments.rounds)
    host = fit(Host(copy=copy), pick(calibration))
    print(f"fitted: {host.hop * 1e6:.0f} us a hop beside the delay, {host.share:.0%} of the rate, "
          f"{host.wake * 1e6:.0f} us a step; without a network {host.copy * 1e9:.3f} ns a byte")
    report("Calibrated on", pick(calibration), host)
    report("Held out", pick(held_out), host)
    predictions(host)
    with open(arguments.picture, "w") as file:
        file.write(picture(host))


if __name__ == "__main__":
    main()
