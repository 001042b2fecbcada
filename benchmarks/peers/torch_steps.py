# SPDX-License-Identifier: Apache-2.0
"""The measured trainings in PyTorch; same protocol as steps/main.cc.

Does what fit does and no more: shuffles, keeps the mean loss and the accuracy, reads them once an
epoch. With "_bf16" behind WORK, the forward pass and its gradients are in bfloat16 where autocast
takes it. usage: torch_steps.py WORK BATCH_SIZE STEPS [channels_last] [compile]
"""
import os
import sys
import time

import torch
from torch import nn

from torch_networks import densenet121, efficientnet_b0, mobilenet_v2, resnet
from torch_transformers import GPT, VOCABULARY, transformer_block

torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())))


class LastOutput(nn.Module):
    """What a recurrent layer gives at the last step."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0][:, -1]


def make_work(name):
    if name == "mlp":
        model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10))
        return model, (784,), torch.optim.Adam(model.parameters(), 1e-3, fused=True)
    if name == "cnn":
        model = nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                              nn.Linear(13 * 13 * 32, 64), nn.ReLU(), nn.Linear(64, 10))
        return model, (1, 28, 28), torch.optim.SGD(model.parameters(), 1e-3, fused=True)
    if name == "cifar":
        model = nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3), nn.ReLU(),
            nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3),
            nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64 * 36, 512), nn.ReLU(),
            nn.Dropout(0.5), nn.Linear(512, 10))
        return model, (3, 32, 32), torch.optim.Adam(model.parameters(), 1e-3, fused=True)
    if name in ("lstm", "gru"):
        layer = (nn.LSTM if name == "lstm" else nn.GRU)(64, 128, batch_first=True)
        model = nn.Sequential(LastOutput(layer), nn.Linear(128, 10))
        return model, (50, 64), torch.optim.Adam(model.parameters(), 1e-3, fused=True)
    if name == "transformer":
        model = transformer_block()
        return model, (128, 512), torch.optim.Adam(model.parameters(), 1e-3, fused=True)
    if name == "gpt":
        model = GPT()
        return model, (256,), torch.optim.Adam(model.parameters(), 1e-3, fused=True)
    adam, sgd = torch.optim.Adam, torch.optim.SGD
    networks = {"mobilenet": (mobilenet_v2, 96, adam), "efficientnet": (efficientnet_b0, 64, adam),
                "resnet": (resnet, 64, sgd), "densenet": (densenet121, 64, sgd)}
    if name not in networks:
        sys.exit("expected mlp, cnn, cifar, lstm, gru, transformer, gpt, mobilenet, resnet, densenet "
                 f"or efficientnet, got {name}")
    network, side, optimizer = networks[name]
    model = network()
    return model, (3, side, side), optimizer(model.parameters(), 1e-3, fused=True)


def main():
    name, batch_size, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.manual_seed(0)
    half = name.endswith("_bf16")
    name = name.removesuffix("_bf16")
    model, shape, optimizer = make_work(name)
    rows = batch_size * steps
    if name == "gpt":
        x, y = (torch.randint(0, VOCABULARY, (rows, *shape)) for _ in range(2))
    else:
        x = torch.rand(rows, *shape)
        y = torch.randint(0, 10, (rows,))
    if "channels_last" in sys.argv:
        model = model.to(memory_format=torch.channels_last)
        x = x.contiguous(memory_format=torch.channels_last)
    forward = torch.compile(model) if "compile" in sys.argv else model
    loss_function = nn.CrossEntropyLoss()

    def epoch():
        order = torch.randperm(rows)
        total = torch.zeros(())
        correct = torch.zeros((), dtype=torch.long)
        for i in range(0, rows, batch_size):
            index = order[i:i + batch_size]
            target = y[index]
            optimizer.zero_grad(set_to_none=True)
            target = target.flatten()
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
                output = forward(x[index]).flatten(0, -2)
                loss = loss_function(output, target)
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                total += loss
                correct += (output.argmax(1) == target).sum()
        return total.item() / steps, correct.item() / y.numel()

    epoch()
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        epoch()
        print((time.perf_counter() - start) / steps * 1e3, flush=True)


main()
