# SPDX-License-Identifier: Apache-2.0
"""The measured input pipelines in tf.data; same protocol as pipelines/main.cc.

usage: tfdata_pipelines.py WORK FOLDER
"""
import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import numpy as np
import tensorflow as tf

ROWS = 60_000


def rows(dtype):
    random = np.random.default_rng(1)
    images = random.integers(0, 256, (ROWS, 28, 28), dtype=np.uint8).astype(dtype)
    labels = random.integers(0, 10, ROWS)
    return tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(ROWS)


def make_work(name, folder):
    if name == "bytes":
        return rows(np.uint8).batch(64)
    if name == "floats":
        return rows(np.float32).batch(64)
    if name == "map":
        scaled = lambda x, y: (tf.cast(x, tf.float32) / 255.0, y)
        return rows(np.uint8).map(scaled, num_parallel_calls=tf.data.AUTOTUNE).batch(64)
    if name in ("jpeg", "jpeg_dct"):
        return tf.keras.utils.image_dataset_from_directory(
            os.path.join(folder, "pictures"), image_size=(160, 160), batch_size=32,
            shuffle=False, verbose=False)
    features = {"x": tf.io.FixedLenFeature([], tf.string), "y": tf.io.FixedLenFeature([], tf.int64)}
    if name == "tfrecord":
        parse = lambda record: tf.io.parse_single_example(record, features)
        records = tf.data.TFRecordDataset(os.path.join(folder, "records.tfrecord"))
        return records.map(parse, num_parallel_calls=tf.data.AUTOTUNE).batch(64)
    if name == "tfrecord_batches":
        parse = lambda records: tf.io.parse_example(records, features)
        records = tf.data.TFRecordDataset(os.path.join(folder, "records.tfrecord"))
        return records.batch(64).map(parse, num_parallel_calls=tf.data.AUTOTUNE)
    if name == "csv":
        return tf.data.experimental.make_csv_dataset(
            os.path.join(folder, "table.csv"), 64, num_epochs=1, shuffle=False)
    if name == "text":
        words = tf.constant([f"word{i}" for i in range(1000)])
        numbers = tf.range(2, 1002, dtype=tf.int64)
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(words, numbers), 1)
        look_up = lambda line: table.lookup(tf.strings.split(line))
        lines = tf.data.TextLineDataset(os.path.join(folder, "lines.txt"))
        return lines.map(look_up, num_parallel_calls=tf.data.AUTOTUNE).padded_batch(64)
    paths = tf.data.Dataset.list_files(os.path.join(folder, "parts", "*.txt"), shuffle=False)
    if name == "interleave":
        return paths.interleave(tf.data.TextLineDataset, cycle_length=4,
                                num_parallel_calls=tf.data.AUTOTUNE).batch(64)
    if name == "shuffle":
        return tf.data.TextLineDataset(paths).shuffle(10_000).batch(64)
    sys.exit(f"unknown work {name}")


def main():
    dataset = make_work(sys.argv[1], sys.argv[2]).prefetch(2)
    print("ready", flush=True)
    for _ in sys.stdin:
        start, cpu, elements = time.perf_counter(), time.process_time(), 0
        for batch in dataset:
            elements += len(tf.nest.flatten(batch)[0])
        figures = (time.perf_counter() - start, time.process_time() - cpu)
        print(*(figure / elements * 1e6 for figure in figures), flush=True)


main()
