# SPDX-License-Identifier: Apache-2.0
"""Single pictures through a network of keras.applications, by calling it; one client. Same protocol
as serving/main.cc.

usage: keras_serving.py mobilenet|resnet 1 REQUESTS
"""
import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import keras
import numpy as np


def main():
    name, requests = sys.argv[1], int(sys.argv[3])
    network = {"mobilenet": keras.applications.MobileNetV2, "resnet": keras.applications.ResNet50}
    model = network[name](weights=None)
    x = keras.ops.convert_to_tensor(np.random.default_rng(0).random((1, 224, 224, 3), "float32"))
    model(x)
    print("ready", flush=True)
    for _ in sys.stdin:
        latencies = []
        for _ in range(requests):
            begin = time.perf_counter()
            model(x)
            latencies.append((time.perf_counter() - begin) * 1e6)
        latencies.sort()
        print(f"{1e6 * requests / sum(latencies):.0f} {latencies[requests // 2]:.1f} "
              f"{latencies[requests * 99 // 100]:.1f}", flush=True)


main()
