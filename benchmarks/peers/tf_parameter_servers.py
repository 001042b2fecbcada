# SPDX-License-Identifier: Apache-2.0
"""A task of TensorFlow's ParameterServerStrategy; same protocol and steps as
distribute/parameter_servers.cc. Each task computes with one thread.

usage: tf_parameter_servers.py mlp|embedding STEPS      with TF_CONFIG set
"""
import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import tensorflow as tf

BATCH, EXAMPLES, ROWS, RATE, WARM_UP = 64, 2048, 100_000, 0.01, 50

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(2)


def shards(variable):
    return list(getattr(variable, "variables", [variable]))


def update(variable, gradient):
    if isinstance(gradient, tf.IndexedSlices):
        variable.scatter_sub(tf.IndexedSlices(RATE * gradient.values, gradient.indices))
    else:
        variable.assign_sub(RATE * gradient)


def main():
    wide, steps = sys.argv[1] == "embedding", int(sys.argv[2])
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    if resolver.task_type != "chief":
        tf.distribute.Server(resolver.cluster_spec(), job_name=resolver.task_type,
                             task_index=resolver.task_id, protocol="grpc", start=True).join()
    partitioner = tf.distribute.experimental.partitioners.MinSizePartitioner(
        min_shard_bytes=256 << 10, max_shards=2)
    strategy = tf.distribute.ParameterServerStrategy(resolver, variable_partitioner=partitioner)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    shapes = [(ROWS, 64), (8 * 64, 10), (10,)] if wide else [(784, 128), (128,), (128, 10), (10,)]
    with strategy.scope():
        variables = [tf.Variable(tf.random.uniform(shape, -0.05, 0.05)) for shape in shapes]
    flat = [shard for variable in variables for shard in shards(variable)]

    def logits(x):
        if wide:
            table, kernel, bias = variables
            rows = tf.nn.embedding_lookup(table, x)
            return tf.matmul(tf.reshape(rows, (BATCH, -1)), kernel) + bias
        kernel, bias, last_kernel, last_bias = variables
        return tf.matmul(tf.nn.relu(tf.matmul(x, kernel) + bias), last_kernel) + last_bias

    def dataset(_):
        y = tf.range(EXAMPLES) % 10
        x = (tf.random.uniform((EXAMPLES, 8), 0, ROWS, dtype=tf.int32) if wide
             else tf.random.uniform((EXAMPLES, 784)))
        return tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(BATCH, drop_remainder=True)

    @tf.function
    def step(iterator):
        x, y = next(iterator)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits(x)))
        for shard, gradient in zip(flat, tape.gradient(loss, flat)):
            update(shard, gradient)
        return loss

    per_worker = coordinator.create_per_worker_dataset(
        tf.function(lambda: strategy.distribute_datasets_from_function(dataset)))
    batches = iter(per_worker)

    def run(count):
        for _ in range(count):
            coordinator.schedule(step, args=(batches,))
        coordinator.join()

    run(WARM_UP)
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        run(steps)
        print((time.perf_counter() - start) / steps * 1e3, flush=True)
    os._exit(0)


main()
