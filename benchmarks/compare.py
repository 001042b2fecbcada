#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares Cornu with Keras (TensorFlow) and with PyTorch, in Python and in its C++ front end: runs
the same trainings in alternating rounds of one run, and prints the ratios.

Every contender is a separate process that trains an epoch on request. Peers are tried in all their
forms (memory layouts, XLA, torch.compile, optimizers); the fastest form of each continues to the
measured rounds. A ratio is the time of the fastest peer over Cornu's in one round: above 1, Cornu
is faster. The C++ peer is compiled into the build directory when it is first needed.

"serving": client threads ask one model for single predictions; requests per second and latency.

"latency": one image at a time through MobileNetV2 and ResNet50: by predict_on_batch; in Keras by
calling the model; in PyTorch in inference_mode, in the fastest of its forms.

"replicas", Cornu alone: two mirrored replicas on the CPU compared with one device with all cores,
at the same global batch size.

"startup", Cornu alone: the time from the start of a process to the end of the CNN's first training
step on MNIST's files, and the peak memory of an epoch.

"allreduce", Cornu alone: the sum over two replicas of one process compared with plain copies.

"runstate", Cornu alone: trainings that keep their state compared with trainings that don't.

"files": saving and loading a .keras file, compared with Keras, and with writing and reading a file
as it is.

"data": input pipelines compared with tf.data and PyTorch's DataLoader (with the fastest number of
worker processes), which read the same files.

"distribute": workers in several processes: their all-reduce compared with gloo's; training with two
of them compared with two processes that train alone, and with TensorFlow's workers.

"parameter_servers": steps of two workers with parameter servers, compared with TensorFlow's.

"compile": the training steps of large networks: nodes, seconds and memory; the peers' memory.

With --device GPU:0: training steps on that GPU, compared with PyTorch on the same card: eager, with
torch.compile, and with CUDA graphs (mode "reduce-overhead"; the whole step captured by hand, eager
and compiled), in the relevant layouts, with fused optimizers, cudnn.benchmark and, where Cornu has
mixed_bfloat16, autocast. All forms are printed; the fastest counts. TF32 is off on both sides
unless --tf32 is given. Batches are on the card beforehand; a time is that of an epoch of many
steps, after warm-up, compilation and capture, until its loss has been read, which waits for all of
them. If there is no GPU, prints the reason in one line and exits with code 77.
"""
import argparse
import functools
import importlib.util
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import gpu
from contenders import columns, faster, need, spread, start, try_form
from workers import distribute, parameter_servers

HERE = os.path.dirname(os.path.abspath(__file__))
WORKS = {
    "cnn": ("MNIST CNN (conv 32, pool, dense 64, dense 10), SGD, batch 64", 64, 150),
    "mlp": ("MLP 784-512-10, Adam, batch 128", 128, 200),
    "cifar": ("CIFAR CNN (32-32-pool-64-64-pool-512-10), Adam, batch 64", 64, 20),
    "embedding": ("8 of 100000 rows of 64, dense 64, dense 10, SGD, batch 256", 256, 100),
    "lstm": ("LSTM 128 on 50 steps of 64 features, Adam, batch 64", 64, 20),
    "gru": ("GRU 128 on 50 steps of 64 features, Adam, batch 64", 64, 20),
    "transformer": ("transformer block, 8 heads of 64, feed-forward 2048 on (128, 512), Adam, batch 16",
                    16, 4),
    "gpt": ("GPT of characters, 6 blocks of 384, 6 heads, sequences of 256, Adam, batch 8", 8, 3),
    "mobilenet": ("MobileNetV2 of 96x96 images, Adam, batch 32", 32, 6),
    "resnet": ("ResNet50 of 64x64 images, SGD, batch 16", 16, 6),
    "densenet": ("DenseNet121 of 64x64 images, SGD, batch 16", 16, 6),
    "efficientnet": ("EfficientNetB0 of 64x64 images, Adam, batch 16", 16, 6),
    "cifar_bf16": ("CIFAR CNN in mixed_bfloat16", 64, 20),
    "resnet_bf16": ("ResNet50 in mixed_bfloat16", 16, 6),
    "transformer_bf16": ("transformer block in mixed_bfloat16", 16, 4),
}
FORMS = {
    "Keras": ("keras_steps.py", [[], ["xla"]]),
    "PyTorch": ("torch_steps.py", [[], ["channels_last"], ["compile"],
                                   ["channels_last", "compile"], ["sparse"]]),
    "PyTorch C++": ("libtorch", [[], ["channels_last"], ["optim"], ["channels_last", "optim"]]),
}
SIZES = [4 << 10, 64 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20]  # of all-reduces
PIPELINES = {
    "bytes": "MNIST's sizes from memory, bytes: shuffle, batches of 64",
    "floats": "the same of float32",
    "map": "the same of bytes, each image cast to float32 and divided by 255",
    "jpeg": "JPEG files of 500x375 pixels to batches of 32 of 160x160",
    "jpeg_dct": "the same, decoded at half the size (the peers: whole)",
    "tfrecord": "TFRecord files of examples: each parsed, batches of 64",
    "tfrecord_batches": "the same, parsed in batches",
    "text": "lines of text: split, looked up in a table of 1000 words, padded batches of 64",
    "csv": "a CSV file of 20 columns of numbers: make_csv_dataset, batches of 64",
    "interleave": "lines of 8 files, one of each of 4 in turn (interleave), batches of 64",
    "shuffle": "the same lines, file after file, through a shuffle's buffer of 10,000",
}
NETWORKS = ["ResNet50", "ResNet152", "EfficientNetV2M"]


@functools.cache
def libtorch_program(build):
    """The peer in C++, compiled if necessary; prints a message and returns None if it can't be."""
    torch = importlib.util.find_spec("torch")
    if torch is None:
        print("  PyTorch C++: no torch here")
        return None
    folder = os.path.join(build, "peers", "libtorch")
    log = os.path.join(build, "logs", "libtorch.log")
    os.makedirs(os.path.dirname(log), exist_ok=True)
    print(f"  PyTorch C++: compiling in {folder}", flush=True)
    source = os.path.join(HERE, "peers", "libtorch")
    commands = (["cmake", "-G", "Ninja", "-S", source, "-B", folder, "-DCMAKE_BUILD_TYPE=Release",
                 f"-DTORCH={os.path.dirname(torch.origin)}"],
                ["cmake", "--build", folder])
    with open(log, "w") as output:
        for command in commands:
            if subprocess.run(command, stdout=output, stderr=output).returncode:
                print(f"  PyTorch C++: does not compile here; see {log}")
                return None
    return os.path.join(folder, "libtorch_steps")


def peer_command(script, build):
    if script.endswith(".py"):
        return [sys.executable, os.path.join(HERE, "peers", script)]
    program = libtorch_program(build)
    return program and [program]


def fastest_form(peer, work, build):
    _, batch, steps = WORKS[work]
    script, forms = FORMS[peer]
    command = peer_command(script, build)
    if command is None:
        return None
    best = None
    for arguments in forms:
        if work in ("mlp", "embedding") and "channels_last" in arguments:
            continue
        if work != "embedding" and "sparse" in arguments:
            continue
        best = faster(best, try_form(" ".join([peer] + arguments),
                                     command + [work, str(batch), str(steps)] + arguments))
    return best


def compare(work, build, rounds):
    title, batch, steps = WORKS[work]
    program = os.path.join(build, "bin", "bench_steps")
    print(f"{title}: the peers' forms", flush=True)
    contenders = [fastest_form(peer, work, build) for peer in FORMS]
    contenders = [contender for contender in contenders if contender]
    cornu = need(start("Cornu", [program, work, str(batch), str(steps)]), program)
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
        print(f"  fastest peer / Cornu: {spread(ratios)}", flush=True)


def serving(program, rounds):
    """Requests per second and their latency, with 1, 2 and 8 client threads."""
    peer = os.path.join(HERE, "peers", "torch_serving.py")
    for work, requests in (("mlp", 4000), ("cnn", 1000)):
        for clients in (1, 2, 8):
            arguments = [work, str(clients), str(requests // clients)]
            contenders = [start("Cornu", [program] + arguments),
                          start("PyTorch", [sys.executable, peer] + arguments)]
            need(contenders[0], program)
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


def latency(program, rounds, requests=20):
    """Microseconds from an image to its predictions by MobileNetV2 and ResNet50."""
    for work in ("mobilenet", "resnet"):
        arguments = [work, "1", str(requests)]
        peer = lambda name, script, *form: start(" ".join([name, *form]), [
            sys.executable, os.path.join(HERE, "peers", script), *arguments, *form])
        forms = [peer("PyTorch", "torch_serving.py", *form) for form in FORMS["PyTorch"][1]]
        forms = sorted(filter(None, forms), key=lambda form: min(form.ask()[1] for _ in range(2)))
        for form in forms[1:]:
            form.close()
        contenders = [need(start("Cornu", [program] + arguments), program),
                      peer("Keras", "keras_serving.py"), *forms[:1]]
        contenders = [contender for contender in contenders if contender]
        for _ in range(rounds):
            for contender in contenders:
                contender.times.append(contender.ask()[1])
        print(f"{work}, 224x224, one image; microseconds, median (lowest-highest)")
        for contender in contenders:
            ratios = [theirs / own for theirs, own in zip(contender.times, contenders[0].times)]
            print(f"  {contender.name}: {spread(contender.times)}; over Cornu's: {spread(ratios)}",
                  flush=True)
            contender.close()


def pipelines(program, rounds):
    """Epochs of input pipelines, in microseconds per element."""
    with tempfile.TemporaryDirectory() as folder:
        if subprocess.run([program, "make", folder]).returncode:
            sys.exit(f"{program} does not run. Build it with ./run build.")
        for work, title in PIPELINES.items():
            compare_pipelines(program, work, title, folder, rounds)
        pipelines_limits(program, folder)
    pipelines_alone(program, rounds)


def pipelines_limits(program, folder):
    """The costs of large datasets before and besides their elements, measured once."""
    once = lambda work: [column[0] for column in
                         columns(need(start("Cornu", [program, work, folder]), program), 1)]
    print(f"A shuffle of 20,000,000 rows in memory: {once('shuffle_memory')[0]:.2f} bytes a row")
    first, read, restored, ratio = once("folder")
    print(f"A directory of 100,000 images: {first:.2f} s to the first batch; nine tenths of a pass "
          f"read in {read:.2f} s, restored in {restored * 1e3:.2f} ms ({ratio:.2%})")
    figures = once("records")
    for buffer, (read, restored, ratio) in (("1,000", figures[:3]), ("10,000", figures[3:])):
        print(f"100,000 records, shuffled by {buffer}: nine tenths read in {read:.3f} s, restored "
              f"in {restored * 1e3:.2f} ms ({ratio:.2%})", flush=True)


def pipelines_alone(program, rounds):
    """How an expensive map scales, and what a pipeline adds to a step."""
    times = columns(need(start("Cornu", [program, "map_scaling"]), program), rounds)
    print("A map of 0.2 ms of host code, us/element; and the time of 1 call over it")
    for name, own, ratio in zip(("2 calls", "4 calls", "AUTOTUNE"), times[1:4], times[4:]):
        print(f"  {name}: {spread(own)} us/element, {spread(ratio)}")
    arrays, pipeline, ratio = columns(need(start("Cornu", [program, "cnn_step"]), program), rounds)
    print("MNIST CNN, batch 64, fit with arrays; with shuffle, map, batch and prefetch")
    print(f"  {spread(arrays)} us/step; {spread(pipeline)}; pipeline / arrays {spread(ratio)}",
          flush=True)


def compare_pipelines(program, work, title, folder, rounds):
    peer = lambda script, *form: start(
        " ".join([{"tfdata": "tf.data", "torch": "DataLoader"}[script], *form]),
        [sys.executable, os.path.join(HERE, "peers", f"{script}_pipelines.py"), work, folder, *form])
    contenders = [need(start("Cornu", [program, work, folder]), program), peer("tfdata")]
    loaders = [loader for loader in (peer("torch", workers) for workers in "012") if loader]
    tried = sorted(loaders, key=lambda loader: min(loader.round() for _ in range(2)))
    for loader in tried[1:]:
        loader.close()
    contenders = [contender for contender in contenders + tried[:1] if contender]
    for contender in contenders:
        contender.round()
    for _ in range(rounds):
        for contender in contenders:
            contender.times.append(contender.round())
    print(f"{title}; median (lowest-highest)")
    for contender in contenders:
        print(f"  {contender.name}: {spread(contender.times)} us/element")
        contender.close()
    for other in contenders[1:]:
        ratios = [theirs / ours for theirs, ours in zip(other.times, contenders[0].times)]
        print(f"  {other.name} / Cornu: {spread(ratios)}", flush=True)


def replicas(program, rounds):
    """Throughput of two mirrored replicas over that of one device."""
    for work, batch, steps in (("cnn", 64, 150), ("cnn", 256, 40), ("mobilenet", 32, 6)):
        contenders = [
            need(start(name, [program, work, str(batch), str(steps)] + arguments), program)
            for name, arguments in (("one device", []), ("2 replicas", ["2"]))]
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


def allreduce(program, rounds):
    """The sum over two replicas of one process, compared with the bound: copies of equal size."""
    contender = need(start("Cornu", [program] + [str(size) for size in SIZES]), program)
    figures = columns(contender, rounds)
    print("Two ranks, threads of one process, have N bytes of float32 each and get the sums.")
    print("Copy: the same threads copy each rank's N bytes to where its sums go, which reads 2 N")
    print("and writes 2 N bytes in all; the all-reduce does the same and adds. Microseconds.")
    print("| N | all-reduce | copy | copy / all-reduce |")
    print("|---|---|---|---|")
    for i, size in enumerate(SIZES):
        sums, copies = figures[2 * i], figures[2 * i + 1]
        name = f"{size >> 10} KiB" if size < 1 << 20 else f"{size >> 20} MiB"
        ratios = [copy / own for copy, own in zip(copies, sums)]
        print(f"| {name} | {spread(sums)} | {spread(copies)} | {spread(ratios)} |", flush=True)


def runstate(program, rounds, batch=64, steps=400):
    """The cost of keeping a training's state, and of resuming from it."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(program)) as folder:
        command = [program, folder, str(batch), str(steps)]
        figures = columns(need(start("Cornu", command), program), rounds)
    wall, cpu, kept_wall, kept_cpu, fresh, resumed = figures
    print(f"MNIST CNN, Adam, batch {batch}: {rounds} rounds of {steps} steps, without states and")
    print("with one each 100 steps in turns; milliseconds a step, CPU time that of all threads.")
    print("| | no states | a state each 100 steps | with / without |")
    print("|---|---|---|---|")
    for name, without, kept in (("wall", wall, kept_wall), ("CPU", cpu, kept_cpu)):
        ratios = [after / before for after, before in zip(kept, without)]
        print(f"| {name} | {spread(without)} | {spread(kept)} | {spread(ratios)} |")
    print("From fit's call to the end of a new model's first step, milliseconds:")
    print("| no state | resumes from a state | more |")
    print("|---|---|---|")
    more = [after - before for after, before in zip(resumed, fresh)]
    print(f"| {spread(fresh)} | {spread(resumed)} | {spread(more)} |", flush=True)


def files(program, rounds, megabytes=100):
    """A model's file, saved and loaded."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(program)) as folder:
        cornu = need(start("Cornu", [program, folder, str(megabytes)]), program)
        keras = start("Keras", [sys.executable, os.path.join(HERE, "peers", "keras_files.py"),
                                os.path.join(folder, "model.keras")])
        own, theirs = [], []
        for _ in range(rounds):
            own.append(cornu.ask())
            if keras:
                theirs.append(keras.ask())
        for contender in filter(None, (cornu, keras)):
            contender.close()
    written, saved, read, loaded, read_cold, loaded_cold, *memory = zip(*own)
    keras_times = list(zip(*theirs)) or [None] * 3
    print(f"A .keras file of {megabytes} MB of float32; milliseconds. Plain: write and fsync; read.")
    print("| | plain | Cornu | Cornu / plain | Keras |")
    print("|---|---|---|---|---|")
    for name, plain, times, peer in (
            ("save", written, saved, keras_times[0]),
            ("load, in the page cache", read, loaded, keras_times[1]),
            ("load, not in the page cache", read_cold, loaded_cold, keras_times[2])):
        ratios = [time / bound for time, bound in zip(times, plain)]
        print(f"| {name} | {spread(plain)} | {spread(times)} | {spread(ratios)} "
              f"| {spread(peer) if peer else '-'} |")
    print("The growth of the resident set's peak, in times of the weights' bytes:")
    print(f"saving {spread(memory[0])}, loading {spread(memory[1])}", flush=True)


def figures_of(command):
    """The numbers in a program's last output line; None if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if done.returncode or not done.stdout.strip():
        return None
    return [float(figure) for figure in done.stdout.strip().splitlines()[-1].split()]


def compiling(program, rounds, size=224, batch=8):
    """Nodes, seconds (medians) and memory of the training steps of large networks."""
    script = lambda name: [sys.executable, os.path.join(HERE, "peers", name)]
    print(f"Training steps of {size}x{size} images, batch {batch}, SGD, float32. Memory, MiB:")
    print("Cornu's block for intermediate values; the growth of the resident set's peak over the")
    print("first two steps, which holds what compiling takes, too.")
    print("| network | weights, million | nodes traced | behind passes | tracing, s | compiling, s "
          "| block | growth: Cornu | PyTorch | Keras |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in NETWORKS:
            model = os.path.join(folder, f"{name}.json")
            subprocess.run(script("keras_models.py") + [name, str(size), "json", model], check=True,
                           stderr=subprocess.DEVNULL)
            runs = [need(figures_of([program, model, str(batch)]), program)
                    for _ in range(min(rounds, 3))]
            weights, traced, compiled, *seconds, block, growth = map(statistics.median, zip(*runs))
            peers = [figures_of(script(peer) + [name, str(size), *how, str(batch)])
                     for peer, how in (("torch_memory.py", []), ("keras_models.py", ["memory"]))]
            if any(peer and peer[0] != weights for peer in peers):
                sys.exit(f"{name}: the peers' networks are others: {weights}, {peers}")
            memory = [f"{block / 2**20:.0f}", f"{growth / 2**20:.0f}"]
            memory += [f"{peer[1] / 2**20:.0f}" if peer else "-" for peer in peers]
            print(f"| {name} | {weights / 1e6:.1f} | {traced:.0f} | {compiled:.0f} "
                  f"| {seconds[0]:.2f} | {seconds[1]:.2f} | {' | '.join(memory)} |", flush=True)


def cpu_name():
    names = [line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo")
             if line.startswith(("model name", "cpu family", "model\t"))]
    return " / ".join(dict.fromkeys(names))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    alone = {"serving": (serving, "bench_serving"), "latency": (latency, "bench_serving"),
             "replicas": (replicas, "bench_steps"),
             "startup": (startup, "bench_startup"), "allreduce": (allreduce, "bench_allreduce"),
             "runstate": (runstate, "bench_runstate"), "files": (files, "bench_files"),
             "data": (pipelines, "bench_pipelines"),
             "compile": (compiling, "bench_compile"),
             "distribute": (distribute, "bench_distribute"),
             "parameter_servers": (parameter_servers, "bench_parameter_servers")}
    works = [*WORKS, *alone]
    parser.add_argument("works", nargs="*", help=f"of: {', '.join(works)}; with --device of: "
                                                 f"{', '.join(gpu.WORKS)}. All, unless named")
    parser.add_argument("--device", help="GPU:0, GPU:1, …: steps on that GPU")
    parser.add_argument("--tf32", action="store_true", help="with --device: TF32 on, on both sides")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--build", help="the build directory", default=os.environ.get(
        "CORNU_BUILD_DIR", os.path.join(HERE, "..", "build")))
    arguments = parser.parse_args()
    if arguments.device and not re.fullmatch(r"GPU:\d+", arguments.device):
        parser.error(f"--device: expected GPU:0, GPU:1, …, got {arguments.device}")
    if arguments.tf32 and not arguments.device:
        parser.error("--tf32 is for a GPU: give --device too")
    if arguments.device:
        works = [*gpu.WORKS]
    unknown = set(arguments.works) - set(works)
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; there are: {', '.join(works)}")
    works = arguments.works or works
    build = os.path.abspath(arguments.build)
    if arguments.device:
        sys.exit(gpu.measure(works, arguments.device, build, arguments.rounds, arguments.tf32))
    print(f"CPU: {cpu_name()}; {os.cpu_count()} cores")
    for work in works:
        if work in alone:
            measure, program = alone[work]
            measure(os.path.join(build, "bin", program), arguments.rounds)
        else:
            compare(work, build, arguments.rounds)


if __name__ == "__main__":
    main()
