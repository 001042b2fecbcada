# SPDX-License-Identifier: Apache-2.0
"""A .keras file, saved and loaded by Keras: milliseconds to save and fsync it, to load it from the
page cache, and to load it when it isn't in the page cache.

usage: keras_files.py PATH
"""
import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import keras


def milliseconds(work):
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


def main():
    path = sys.argv[1]
    copy = path + ".by_keras.keras"
    model = keras.saving.load_model(path)

    def save():
        model.save(copy)
        with open(copy) as file:
            os.fsync(file.fileno())

    def drop_from_cache():
        with open(copy) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    save()
    print("ready", flush=True)
    for _ in sys.stdin:
        times = [milliseconds(save), milliseconds(lambda: keras.saving.load_model(copy))]
        drop_from_cache()
        times.append(milliseconds(lambda: keras.saving.load_model(copy)))
        print(*times, flush=True)


main()
