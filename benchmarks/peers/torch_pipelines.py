# SPDX-License-Identifier: Apache-2.0
"""The measured input pipelines in PyTorch's DataLoader; same protocol as pipelines/main.cc, but for
the CPU time, which worker processes don't tell.

usage: torch_pipelines.py WORK FOLDER WORKERS
"""
import glob
import os
import sys
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

ROWS = 60_000


class Scaled(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        x, y = self.rows[index]
        return x.float() / 255.0, y


class Pictures(Dataset):
    def __init__(self, folder):
        self.paths = sorted(glob.glob(os.path.join(folder, "*", "*.jpg")))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        from PIL import Image

        path = self.paths[index]
        picture = Image.open(path).convert("RGB").resize((160, 160), Image.BILINEAR)
        return np.asarray(picture, dtype=np.float32), int(os.path.basename(os.path.dirname(path)))


def rows(dtype):
    random = np.random.default_rng(1)
    images = torch.from_numpy(random.integers(0, 256, (ROWS, 28, 28), dtype=np.uint8))
    return TensorDataset(images.to(dtype), torch.from_numpy(random.integers(0, 10, ROWS)))


def make_work(name, folder):
    if name == "bytes":
        return rows(torch.uint8), 64, True
    if name == "floats":
        return rows(torch.float32), 64, True
    if name == "map":
        return Scaled(rows(torch.uint8)), 64, True
    if name in ("jpeg", "jpeg_dct"):
        import PIL  # noqa: F401, or this peer doesn't run

        return Pictures(os.path.join(folder, "pictures")), 32, False
    sys.exit(f"unknown work {name}")


def main():
    dataset, batch_size, shuffle = make_work(sys.argv[1], sys.argv[2])
    workers = int(sys.argv[3])
    loader = DataLoader(dataset, batch_size, shuffle=shuffle, num_workers=workers,
                        persistent_workers=workers > 0)
    print("ready", flush=True)
    for _ in sys.stdin:
        start, elements = time.perf_counter(), 0
        for batch in loader:
            elements += len(batch[0])
        print((time.perf_counter() - start) / elements * 1e6, flush=True)


main()
