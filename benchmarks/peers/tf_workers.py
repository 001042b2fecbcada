# SPDX-License-Identifier: Apache-2.0
"""The tutorial's CNN, or a network with an embedding table, on TensorFlow's workers; same protocol
and networks as steps/main.cc. Uses Keras 2 (tf_keras), since Keras 3's fit fails under
MultiWorkerMirroredStrategy. Each worker computes with one thread.

usage: tf_workers.py cnn|embedding BATCH_SIZE STEPS      with TF_CONFIG set, or alone
"""
import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np
import tensorflow as tf
import tf_keras as keras

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(2)


ROWS = 100_000


def network(work):
    layers = keras.layers
    if work == "embedding":
        first = [keras.Input((8,), dtype="int32"), layers.Embedding(ROWS, 64), layers.Flatten()]
    else:
        first = [keras.Input((28, 28, 1)), layers.Conv2D(32, 3, activation="relu"),
                 layers.MaxPooling2D(), layers.Flatten()]
    return keras.Sequential(first + [layers.Dense(64, activation="relu"), layers.Dense(10)])


def main():
    work, batch_size, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    strategy = tf.distribute.get_strategy()
    if "TF_CONFIG" in os.environ:
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    random = np.random.default_rng(0)
    if work == "embedding":
        x = random.integers(0, ROWS, (batch_size * steps, 8), dtype=np.int32)
    else:
        x = random.random((batch_size * steps, 28, 28, 1), dtype=np.float32)
    y = random.integers(0, 10, (batch_size * steps,))
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(batch_size).repeat()
    with strategy.scope():
        model = network(work)
        model.compile(optimizer=keras.optimizers.SGD(1e-3),
                      loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                      metrics=["accuracy"])
    epoch = lambda: model.fit(dataset, epochs=1, steps_per_epoch=steps, verbose=0)
    epoch()
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        epoch()
        print((time.perf_counter() - start) / steps * 1e3, flush=True)


main()
