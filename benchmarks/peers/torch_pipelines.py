# SPDX-License-Identifier: Apache-2.0
"""The measured input pipelines in PyTorch's DataLoader; same protocol as pipelines/main.cc, except
for the CPU time, which worker processes don't report.

usage: torch_pipelines.py WORK FOLDER WORKERS
"""
import glob
import itertools
import os
import random
import sys
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info

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


class Lines(IterableDataset):
    """The lines of files. Each worker has its own files."""

    def __init__(self, folder):
        self.all = sorted(glob.glob(os.path.join(folder, "*.txt")))

    def files(self):
        worker = get_worker_info()
        paths = self.all if worker is None else self.all[worker.id::worker.num_workers]
        return ((line.rstrip("\n") for line in open(path)) for path in paths)


class Interleaved(Lines):
    """A line from each of four files in turn; when a file ends, the next one takes its place."""

    def __iter__(self):
        waiting = self.files()
        places = list(itertools.islice(waiting, 4))
        while places:
            for place, lines in enumerate(places):
                line = next(lines, None)
                if line is None:
                    places[place] = next(waiting, None)
                else:
                    yield line
            if None in places:
                places = [lines for lines in places if lines]


class Shuffled(Lines):
    """Yields random lines of a buffer, in which the next line takes their place."""

    def __iter__(self):
        worker = get_worker_info()
        size = 10_000 // (worker.num_workers if worker else 1)
        lines = itertools.chain.from_iterable(self.files())
        buffer = list(itertools.islice(lines, size))
        for line in lines:
            place = random.randrange(len(buffer))
            yield buffer[place]
            buffer[place] = line
        random.shuffle(buffer)
        yield from buffer


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
    if name in ("interleave", "shuffle"):
        lines = {"interleave": Interleaved, "shuffle": Shuffled}[name]
        return lines(os.path.join(folder, "parts")), 64, False
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
            elements += len(batch if isinstance(batch[0], str) else batch[0])
        print((time.perf_counter() - start) / elements * 1e6, flush=True)


main()
