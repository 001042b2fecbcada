# SPDX-License-Identifier: Apache-2.0
"""The serving benchmark in PyTorch; same protocol as serving/main.cc.

usage: torch_serving.py WORK CLIENTS REQUESTS [channels_last] [compile]
"""
import os
import sys
import threading
import time

import torch
from torch import nn

from torch_networks import mobilenet_v2, resnet

torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())))


def make_model(name):
    if name == "mlp":
        return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)), (784,)
    if name == "cnn":
        model = nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2),
                              nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                              nn.Linear(64 * 25, 10))
        return model, (1, 28, 28)
    if name == "mobilenet":
        return mobilenet_v2(classes=1000), (3, 224, 224)
    if name == "resnet":
        return resnet(classes=1000), (3, 224, 224)
    sys.exit(f"expected mlp, cnn, mobilenet or resnet, got {name}")


def main():
    name, clients, requests = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.manual_seed(0)
    model, shape = make_model(name)
    model.eval()
    layout = torch.channels_last if "channels_last" in sys.argv else torch.contiguous_format
    model = model.to(memory_format=layout)
    if "compile" in sys.argv:
        model = torch.compile(model)

    def serve(start, latencies):
        with torch.inference_mode():
            x = torch.rand(1, *shape)
            if len(shape) == 3:
                x = x.contiguous(memory_format=layout)
            model(x)
            start.wait()
            for _ in range(requests):
                begin = time.perf_counter()
                model(x)
                latencies.append((time.perf_counter() - begin) * 1e6)

    print("ready", flush=True)
    for _ in sys.stdin:
        start = threading.Barrier(clients + 1)
        latencies = [[] for _ in range(clients)]
        threads = [threading.Thread(target=serve, args=(start, own)) for own in latencies]
        for thread in threads:
            thread.start()
        start.wait()
        begin = time.perf_counter()
        for thread in threads:
            thread.join()
        seconds = time.perf_counter() - begin
        merged = sorted(value for own in latencies for value in own)
        print(f"{len(merged) / seconds:.0f} {merged[len(merged) // 2]:.1f} "
              f"{merged[len(merged) * 99 // 100]:.1f}", flush=True)


if __name__ == "__main__":
    main()
