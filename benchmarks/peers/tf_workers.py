# SPDX-License-Identifier: Apache-2.0
"""The tutorial's CNN by TensorFlow's workers; same protocol as steps/main.cc. Keras 2 (tf_keras),
since Keras 3's fit fails under MultiWorkerMirroredStrategy. Each worker computes with one thread.

usage: tf_workers.py BATCH_SIZE STEPS      with TF_CONFIG set, or alone
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


def main():
    batch_size, steps = int(sys.argv[1]), int(sys.argv[2])
    strategy = tf.distribute.get_strategy()
    if "TF_CONFIG" in os.environ:
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    random = np.random.default_rng(0)
    x = random.random((batch_size * steps, 28, 28, 1), dtype=np.float32)
    y = random.integers(0, 10, (batch_size * steps,))
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(batch_size).repeat()
    with strategy.scope():
        model = keras.Sequential([
            keras.Input((28, 28, 1)), keras.layers.Conv2D(32, 3, activation="relu"),
            keras.layers.MaxPooling2D(), keras.layers.Flatten(),
            keras.layers.Dense(64, activation="relu"), keras.layers.Dense(10)])
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
