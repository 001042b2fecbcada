# SPDX-License-Identifier: Apache-2.0
"""The measured trainings in PyTorch; same protocol as steps/main.cc.

Does what fit does and no more: shuffles, keeps the mean loss and the accuracy, and reads them once
per epoch. With "_bf16" after WORK, the forward pass and its gradients are in bfloat16 if autocast
uses it. usage: torch_steps.py WORK BATCH_SIZE STEPS [GPU:0] [side=PIXELS] [tf32] [channels_last]
[sparse] [compile | reduce-overhead] [graph]

sparse: the embedding's gradient has only the rows that are used; no fused optimizer accepts it.

compile, reduce-overhead: compiles the model with torch.compile, the latter with the CUDA graphs of
that mode. graph: the whole step, including optimizer and metrics, is one CUDA graph, captured by
hand. On a GPU, a few batches that are used in turn are in its memory beforehand, as for Cornu; each
time is followed by the maximum bytes of GPU memory that PyTorch allocated and reserved.
"""
import os
import sys
import time

import torch
from torch import nn

from torch_networks import densenet121, efficientnet_b0, mobilenet_v2, resnet
from torch_transformers import GPT, VOCABULARY, encoder

RESIDENT = 4  # batches in a GPU's memory
IDS = {"gpt": VOCABULARY, "embedding": 100_000}  # works whose inputs are ids
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())))


class LastOutput(nn.Module):
    """The output of a recurrent layer at the last step."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0][:, -1]


def make_model(name, side, sparse):
    """A work's model, the shape of an example, and whether Adam trains it (otherwise SGD)."""
    if name == "embedding":
        return nn.Sequential(nn.Embedding(IDS[name], 64, sparse=sparse), nn.Flatten(),
                             nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10)), (8,), False
    if name == "mlp":
        return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10)), (784,), True
    if name == "cnn":
        model = nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                              nn.Linear(13 * 13 * 32, 64), nn.ReLU(), nn.Linear(64, 10))
        return model, (1, 28, 28), False
    if name == "cifar":
        model = nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3), nn.ReLU(),
            nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3),
            nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64 * 36, 512), nn.ReLU(),
            nn.Dropout(0.5), nn.Linear(512, 10))
        return model, (3, 32, 32), True
    if name in ("lstm", "gru"):
        layer = (nn.LSTM if name == "lstm" else nn.GRU)(64, 128, batch_first=True)
        return nn.Sequential(LastOutput(layer), nn.Linear(128, 10)), (50, 64), True
    if name in ("transformer", "encoder"):
        blocks, length = (1, 128) if name == "transformer" else (6, 512)
        return encoder(blocks), (length, 512), True
    if name == "gpt":
        return GPT(), (256,), True
    networks = {"mobilenet": (mobilenet_v2, 96, True), "efficientnet": (efficientnet_b0, 64, True),
                "resnet": (resnet, 64, False), "densenet": (densenet121, 64, False)}
    if name not in networks:
        sys.exit("expected mlp, cnn, cifar, embedding, lstm, gru, transformer, encoder, gpt, mobilenet, "
                 f"resnet, densenet or efficientnet, got {name}")
    network, own_side, adam = networks[name]
    return network(), (3, side or own_side, side or own_side), adam


class Options:
    def __init__(self, words):
        known = ("tf32", "channels_last", "sparse", "compile", "reduce-overhead", "graph")
        sides = [word[5:] for word in words if word.startswith("side=")]
        places = [word for word in words if word.startswith("GPU:")]
        unknown = [word for word in words
                   if word not in known and word not in places and not word.startswith("side=")]
        if unknown or not all(text.isdigit() for text in sides + [place[4:] for place in places]):
            sys.exit(f"torch_steps.py: can't read {' '.join(unknown or words)}")
        self.side = int(sides[0]) if sides else None
        self.on_gpu = bool(places)
        self.device = torch.device("cuda", int(places[0][4:])) if places else torch.device("cpu")
        self.tf32, self.channels_last, self.sparse, compiled, overhead, self.graph = (
            word in words for word in known)
        self.mode = "reduce-overhead" if overhead else "default" if compiled else None
        if self.graph and not self.on_gpu:
            sys.exit("torch_steps.py: graph is for GPUs: name one, GPU:0")

    def prepare(self):
        """Selects the GPU and the arithmetic that it may use."""
        if not self.on_gpu:
            return
        if not torch.cuda.is_available():
            built = f"for CUDA {torch.version.cuda}" if torch.version.cuda else "without CUDA"
            sys.exit(f"torch_steps.py: PyTorch {torch.__version__}, built {built}, finds no GPU here")
        if self.device.index >= torch.cuda.device_count():
            sys.exit(f"torch_steps.py: there is no GPU:{self.device.index}; "
                     f"there are {torch.cuda.device_count()}")
        torch.cuda.set_device(self.device)
        torch.backends.cuda.matmul.allow_tf32 = self.tf32
        torch.backends.cudnn.allow_tf32 = self.tf32
        torch.backends.cudnn.benchmark = True


class Training:
    """A model and its training step."""

    def __init__(self, name, options):
        self.half = name.endswith("_bf16")
        self.name = name.removesuffix("_bf16")
        self.device = options.device
        self.channels_last = options.channels_last
        self.model, self.shape, adam = make_model(self.name, options.side, options.sparse)
        if self.channels_last:
            self.model = self.model.to(memory_format=torch.channels_last)
        self.model = self.model.to(self.device)
        if adam:
            self.optimizer = torch.optim.Adam(self.model.parameters(), 1e-3, fused=True,
                                              capturable=options.graph)
        else:
            self.optimizer = torch.optim.SGD(self.model.parameters(), 1e-3, fused=not options.sparse)
        self.forward = torch.compile(self.model, mode=options.mode) if options.mode else self.model
        self.loss_function = nn.CrossEntropyLoss()
        self.total = torch.zeros((), device=self.device)
        self.correct = torch.zeros((), dtype=torch.long, device=self.device)

    def examples(self, rows):
        ids = lambda: torch.randint(0, IDS[self.name], (rows, *self.shape))
        x = ids() if self.name in IDS else torch.rand(rows, *self.shape)
        y = ids() if self.name == "gpt" else torch.randint(0, 10, (rows,))
        if self.channels_last:
            x = x.contiguous(memory_format=torch.channels_last)
        return x.to(self.device), y.to(self.device)

    def step(self, x, y):
        self.optimizer.zero_grad(set_to_none=True)
        target = y.flatten()
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.half):
            output = self.forward(x).flatten(0, -2)
            loss = self.loss_function(output, target)
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            self.total += loss
            self.correct += (output.argmax(1) == target).sum()

    def epoch(self, batches, step):
        """Trains on all batches; returns the figures, which are read when everything is done."""
        self.total.zero_()
        self.correct.zero_()
        for x, y in batches:
            step(x, y)
        return self.total.item(), self.correct.item()


def captured(training, x, y):
    """The step as one CUDA graph, on copies of the batches that it is called with."""
    x, y = x.clone(), y.clone()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            training.step(x, y)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    training.optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        training.step(x, y)

    def step(new_x, new_y):
        x.copy_(new_x)
        y.copy_(new_y)
        graph.replay()

    return step


def make_epoch(training, batch_size, steps, options):
    """A function that trains one epoch."""
    if options.on_gpu:
        resident = [training.examples(batch_size) for _ in range(RESIDENT)]
        step = captured(training, *resident[0]) if options.graph else training.step
        return lambda: training.epoch((resident[i % RESIDENT] for i in range(steps)), step)
    x, y = training.examples(batch_size * steps)

    def shuffled():
        for index in torch.randperm(len(x)).split(batch_size):
            yield x[index], y[index]

    return lambda: training.epoch(shuffled(), training.step)


def main():
    if len(sys.argv) < 4 or not all(word.isdigit() for word in sys.argv[2:4]):
        sys.exit("usage:" + __doc__.split("usage:")[1].split("\n\n")[0].replace("\n", " "))
    name, batch_size, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    options = Options(sys.argv[4:])
    options.prepare()
    torch.manual_seed(0)
    epoch = make_epoch(Training(name, options), batch_size, steps, options)
    epoch()
    if options.on_gpu:
        print("device", torch.cuda.get_device_name(), flush=True)
        torch.cuda.empty_cache()  # memory in which cuDNN's algorithms were tried
        torch.cuda.reset_peak_memory_stats()
        epoch()
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        epoch()
        taken = (time.perf_counter() - start) / steps * 1e3
        memory = ([torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()]
                  if options.on_gpu else [])
        print(taken, *memory, flush=True)


main()
