# SPDX-License-Identifier: Apache-2.0
"""Training steps on a GPU: Cornu's compared with PyTorch's on the same card in the same run."""
import collections
import os
import re
import statistics
import subprocess
import sys

from contenders import faster, need, spread, start, try_form

SKIPPED = 77
EPOCHS_TRIED = 3

# side: of the images; asked: the minimum ratios to Cornu of eager PyTorch and of CUDA graphs.
Work = collections.namedtuple("Work", "title batch steps side layouts asked",
                              defaults=(None, ([],), None))
BOTH = ([], ["channels_last"])
WORKS = {
    "cnn": Work("MNIST CNN (conv 32, pool, dense 64, dense 10), SGD, batch 64", 64, 1000,
                layouts=BOTH, asked=(3, 1.2)),
    "mlp": Work("MLP 784-512-10, Adam, batch 128", 128, 1000, asked=(3, 1.2)),
    "resnet_bf16": Work("ResNet50 of 224x224 images, mixed_bfloat16, SGD, batch 256", 256, 20, 224,
                        (["channels_last"],)),
    "mobilenet": Work("MobileNetV2 of 224x224 images, float32, Adam, batch 256", 256, 20, 224, BOTH),
    "mobilenet_bf16": Work("MobileNetV2 of 224x224 images, mixed_bfloat16, Adam, batch 256", 256, 20,
                           224, BOTH),
    "encoder_bf16": Work("6 encoder blocks, 8 heads of 64, feed-forward 2048 on (512, 512), "
                         "mixed_bfloat16, Adam, batch 32", 32, 20),
}
FORMS = [[], ["compile"], ["reduce-overhead"], ["graph"], ["compile", "graph"]]
# TFLOP/s of dense bfloat16 products according to the vendor, by a pattern in the card's name.
PEAKS = {r"\bA100\b": 312, r"\bH100 PCIe\b": 756, r"\bH100 .*HBM3\b": 989, r"\bH200\b": 989,
         r"\bB200\b": 2250}


def peak_flops(card):
    """FLOP/s of dense bfloat16 products; None for unknown cards and parts of cards."""
    if re.search(r"\bNVL\b|\bMIG\b", card):
        return None
    peaks = [peak for name, peak in PEAKS.items() if re.search(name, card)]
    return peaks[0] * 1e12 if peaks else None


def resnet50_products(side, classes=10):
    """Number of multiplications in the forward pass of one image, by convolutions and the dense
    layer: those of the first convolution, and the total. The network is that of keras.applications:
    a block's first convolution has the strides."""
    side = -(-side // 2)
    first = side**2 * 49 * 3 * 64
    side, channels, total = -(-side // 2), 64, first
    for filters, blocks in zip((64, 128, 256, 512), (3, 4, 6, 3)):
        side = side if filters == 64 else -(-side // 2)
        for block in range(blocks):
            total += side**2 * filters * (channels + 9 * filters + 4 * filters)
            if block == 0:
                total += side**2 * channels * 4 * filters
            channels = 4 * filters
    return first, total + channels * classes


def step_flops(work):
    """FLOPs of a training step's products: forward, and the gradients of weights and of inputs,
    except the images. None for works that aren't counted."""
    if not work.startswith("resnet"):
        return None
    first, total = resnet50_products(WORKS[work].side)
    return 2 * (3 * total - first) * WORKS[work].batch


def group_of(form, work):
    """The group of a form. Only the fastest form of each group is measured further; for large works
    there is a single group, to save the card's memory."""
    if not WORKS[work].asked:
        return "PyTorch"
    if "graph" in form or "reduce-overhead" in form:
        return "CUDA graphs"
    return "compiled" if "compile" in form else "eager"


def mebibytes(sizes):
    return " / ".join(f"{size / 2**20:.0f}" for size in sizes)


def fastest_forms(work, command):
    """The fastest form of each group."""
    best = {}
    for layout in WORKS[work].layouts:
        for form in FORMS:
            contender = try_form(" ".join(["PyTorch", *layout, *form]), command + layout + form,
                                 EPOCHS_TRIED)
            if contender is None:
                continue
            group = group_of(form, work)
            print(f"    {mebibytes(contender.figures[1:])} MiB allocated / reserved", flush=True)
            best[group] = faster(best.get(group), contender)
    return best


def compare(work, program, peer, extra, rounds):
    title, batch, steps, side, _, asked = WORKS[work]
    arguments = [work, str(batch), str(steps), *extra, *([f"side={side}"] if side else [])]
    print(f"{title}: PyTorch's forms", flush=True)
    peers = fastest_forms(work, peer + arguments)
    cornu = need(start("Cornu", [program] + arguments), program)
    for contender in peers.values():
        if contender.device != cornu.device:
            sys.exit(f"{contender.name} runs on {contender.device}, Cornu on {cornu.device}.")
    contenders = [cornu, *peers.values()]
    for _ in range(rounds):
        for contender in contenders:
            contender.times.append(contender.round())
    print(f"{title}: {rounds} alternating rounds of {steps} steps; median (lowest-highest)")
    flops, peak = step_flops(work), peak_flops(cornu.device)
    for contender in contenders:
        print(f"  {contender.name}: {spread(contender.times, 4)} ms/step; "
              f"{mebibytes(contender.figures[1:])} MiB")
        if flops:
            rate = flops / (statistics.median(contender.times) / 1e3)
            share = f"{rate / peak:.1%} of the card's peak" if peak else "unknown card"
            print(f"    {rate / 1e12:.1f} TFLOP/s: {share}")
        contender.close()
    if peers:
        show_ratios(cornu, peers, asked, rounds)


def show_ratios(cornu, peers, asked, rounds):
    fastest = [min(peer.times[i] for peer in peers.values()) for i in range(rounds)]
    rows = [("fastest form of PyTorch", fastest, "")]
    for group, least in zip(("eager", "CUDA graphs"), asked or ()):
        if group in peers:
            rows.append((f"{group} ({peers[group].name})", peers[group].times, f"; asked: {least}"))
    for name, times, note in rows:
        ratios = [theirs / own for theirs, own in zip(times, cornu.times)]
        print(f"  {name} / Cornu: {spread(ratios)}{note}", flush=True)


def probe(command, device):
    """Runs one step of the MLP: returns the exit code, the last error line and the card."""
    done = subprocess.run(command + ["mlp", "2", "1", device], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    card = re.search(r"^device (.*)$", done.stdout, re.MULTILINE)
    lines = done.stderr.strip().splitlines()
    return done.returncode, lines[-1] if lines else "", card[1] if card else ""


def measure(works, device, build, rounds, tf32):
    """Implements compare.py --device GPU:0; returns the exit code."""
    program = os.path.join(build, "bin", "bench_steps")
    peer = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers",
                                         "torch_steps.py")]
    need(os.path.exists(program) or None, program)
    code, error, card = probe([program], device)
    if code:
        print(error or f"{program} ends with code {code}.", file=sys.stderr)
        return SKIPPED if code == SKIPPED else 1
    code, error, _ = probe(peer, device)
    if code:
        print(f"{error or 'PyTorch does not run.'} Cornu is measured alone.", file=sys.stderr)
    print(f"{device}: {card}; TF32 {'on' if tf32 else 'off'} in Cornu and PyTorch, "
          "cudnn.benchmark on in PyTorch")
    print("MiB: Cornu's peak; PyTorch's peaks, allocated / reserved")
    for work in works:
        compare(work, program, peer, [device, *(["tf32"] if tf32 else [])], rounds)
    return 0
