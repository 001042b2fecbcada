# SPDX-License-Identifier: Apache-2.0
"""The measured trainings in PyTorch; same protocol as steps/main.cc.

Does what fit does and no more: shuffles, keeps the mean loss and the accuracy, reads them once an
epoch. usage: torch_steps.py WORK BATCH_SIZE STEPS [channels_last] [compile]
"""
import os
import sys
import time

import torch
from torch import nn

torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())))


def normalized(convolution, epsilon=1e-3, momentum=0.001):
    return [convolution, nn.BatchNorm2d(convolution.out_channels, epsilon, momentum)]


class Residual(nn.Module):
    """x, or a shortcut from it, plus what the body makes of it."""

    def __init__(self, body, shortcut=(), last=None):
        super().__init__()
        self.body, self.shortcut = nn.Sequential(*body), nn.Sequential(*shortcut)
        self.last = last or nn.Identity()

    def forward(self, x):
        return self.last(self.shortcut(x) + self.body(x))


def mobilenet_v2():
    """keras.applications.MobileNetV2, alpha 1."""

    def conv(inputs, outputs, kernel=1, stride=1, groups=1, active=True):
        layer = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
        return normalized(layer) + ([nn.ReLU6(inplace=True)] if active else [])

    blocks = [(16, 1, 1), (24, 2, 6), (24, 1, 6), (32, 2, 6)] + [(32, 1, 6)] * 2 + [(64, 2, 6)]
    blocks += [(64, 1, 6)] * 3 + [(96, 1, 6)] * 3 + [(160, 2, 6)] + [(160, 1, 6)] * 2
    layers, channels = conv(3, 32, 3, 2), 32
    for filters, stride, expansion in blocks + [(320, 1, 6)]:
        inner = expansion * channels
        body = conv(channels, inner) if expansion > 1 else []
        body += conv(inner, inner, 3, stride, inner) + conv(inner, filters, active=False)
        layers += [Residual(body)] if stride == 1 and channels == filters else body
        channels = filters
    return nn.Sequential(*layers, *conv(320, 1280), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(1280, 10))


def resnet50():
    """keras.applications.ResNet50: convolutions have biases, the first of a block the strides."""

    def conv(inputs, outputs, kernel=1, stride=1, active=True):
        layer = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2)
        return normalized(layer, 1.001e-5, 0.01) + ([nn.ReLU(inplace=True)] if active else [])

    layers, channels = conv(3, 64, 7, 2) + [nn.MaxPool2d(3, 2, 1)], 64
    for filters, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(count):
            step = stride if block == 0 else 1
            body = conv(channels, filters, 1, step) + conv(filters, filters, 3)
            body += conv(filters, 4 * filters, active=False)
            shortcut = conv(channels, 4 * filters, 1, step, False) if block == 0 else ()
            layers.append(Residual(body, shortcut, nn.ReLU(inplace=True)))
            channels = 4 * filters
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 10))


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
    if name == "mobilenet":
        model = mobilenet_v2()
        return model, (3, 96, 96), torch.optim.Adam(model.parameters(), 1e-3, fused=True)
    if name == "resnet":
        model = resnet50()
        return model, (3, 64, 64), torch.optim.SGD(model.parameters(), 1e-3, fused=True)
    sys.exit(f"expected mlp, cnn, cifar, mobilenet or resnet, got {name}")


def main():
    name, batch_size, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.manual_seed(0)
    model, shape, optimizer = make_work(name)
    rows = batch_size * steps
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
            output = forward(x[index])
            loss = loss_function(output, target)
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                total += loss
                correct += (output.argmax(1) == target).sum()
        return total.item() / steps, correct.item() / rows

    epoch()
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        epoch()
        print((time.perf_counter() - start) / steps * 1e3, flush=True)


main()
