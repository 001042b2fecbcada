# SPDX-License-Identifier: Apache-2.0
"""The number of trained weights, and the bytes of memory that training steps take, in PyTorch.

usage: torch_memory.py ResNet50|ResNet152|EfficientNetV2M IMAGE_SIZE BATCH_SIZE [channels_last]
"""
import sys

import torch
from torch import nn

import memory
from torch_networks import efficientnet_v2_m, resnet

NETWORKS = {
    "ResNet50": lambda: resnet((3, 4, 6, 3), 1000),
    "ResNet152": lambda: resnet((3, 8, 36, 3), 1000),
    "EfficientNetV2M": efficientnet_v2_m,
}


def main():
    name, size, batch_size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    model = NETWORKS[name]()
    x, y = torch.rand(batch_size, 3, size, size), torch.randint(0, 1000, (batch_size,))
    if "channels_last" in sys.argv:
        model = model.to(memory_format=torch.channels_last)
        x = x.contiguous(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3, fused=True)
    loss_function = nn.CrossEntropyLoss()

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss_function(model(x), y).backward()
        optimizer.step()

    weights = sum(parameter.numel() for parameter in model.parameters())
    print(weights, memory.growth(step))


main()
