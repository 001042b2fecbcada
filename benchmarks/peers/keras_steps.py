# SPDX-License-Identifier: Apache-2.0
"""The measured trainings in Keras on TensorFlow; same protocol as steps/main.cc.

With "_bf16" after WORK, in mixed_bfloat16. usage: keras_steps.py WORK BATCH_SIZE STEPS [xla]
"""
import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import keras
import numpy as np
from keras import layers

VOCABULARY = 65  # characters of the GPT
IDS = {"gpt": VOCABULARY, "embedding": 100_000}  # works whose inputs are ids


class PositionEmbedding(layers.Layer):
    def build(self, shape):
        self.table = self.add_weight(shape=shape[1:], initializer="uniform")

    def call(self, x):
        return x + self.table


def feed_forward(x, units, activation):
    return layers.Dense(x.shape[-1])(layers.Dense(units, activation=activation)(x))


def transformer_block():
    inputs = keras.Input((128, 512))
    normalized = lambda x: layers.LayerNormalization(epsilon=1e-5)(x)
    x = normalized(inputs + layers.MultiHeadAttention(8, 64)(inputs, inputs))
    x = normalized(x + feed_forward(x, 2048, "relu"))
    return keras.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling1D()(x)))


def gpt():
    tokens = keras.Input((256,), dtype="int32")
    normalized = lambda x: layers.LayerNormalization(epsilon=1e-5)(x)
    x = PositionEmbedding()(layers.Embedding(VOCABULARY, 384)(tokens))
    for _ in range(6):
        y = normalized(x)
        x = x + layers.MultiHeadAttention(6, 64)(y, y, use_causal_mask=True)
        x = x + feed_forward(normalized(x), 1536, "gelu")
    return keras.Model(tokens, layers.Dense(VOCABULARY, use_bias=False)(normalized(x)))


def make_work(name):
    conv = lambda filters, padding: layers.Conv2D(filters, 3, padding=padding, activation="relu")
    if name == "mlp":
        shape, optimizer = (784,), keras.optimizers.Adam(1e-3)
        body = [layers.Dense(512, activation="relu"), layers.Dense(10)]
    elif name == "cnn":
        shape, optimizer = (28, 28, 1), keras.optimizers.SGD(1e-3)
        body = [conv(32, "valid"), layers.MaxPooling2D(), layers.Flatten(),
                layers.Dense(64, activation="relu"), layers.Dense(10)]
    elif name == "cifar":
        shape, optimizer = (32, 32, 3), keras.optimizers.Adam(1e-3)
        body = [conv(32, "same"), conv(32, "valid"), layers.MaxPooling2D(),
                conv(64, "same"), conv(64, "valid"), layers.MaxPooling2D(), layers.Flatten(),
                layers.Dense(512, activation="relu"), layers.Dropout(0.5), layers.Dense(10)]
    elif name == "embedding":
        shape, optimizer = (8,), keras.optimizers.SGD(1e-3)
        body = [layers.Embedding(IDS[name], 64), layers.Flatten(),
                layers.Dense(64, activation="relu"), layers.Dense(10)]
    elif name in ("lstm", "gru"):
        shape, optimizer = (50, 64), keras.optimizers.Adam(1e-3)
        body = [(layers.LSTM if name == "lstm" else layers.GRU)(128), layers.Dense(10)]
    elif name == "transformer":
        return transformer_block(), (128, 512), keras.optimizers.Adam(1e-3)
    elif name == "gpt":
        return gpt(), (256,), keras.optimizers.Adam(1e-3)
    else:
        adam, sgd = keras.optimizers.Adam, keras.optimizers.SGD
        networks = {"mobilenet": ("MobileNetV2", 96, adam), "resnet": ("ResNet50", 64, sgd),
                    "densenet": ("DenseNet121", 64, sgd),
                    "efficientnet": ("EfficientNetB0", 64, adam)}
        if name not in networks:
            sys.exit("expected mlp, cnn, cifar, embedding, lstm, gru, transformer, gpt, mobilenet, resnet, "
                     f"densenet or efficientnet, got {name}")
        network, side, optimizer = networks[name]
        shape = (side, side, 3)
        model = getattr(keras.applications, network)(
            input_shape=shape, weights=None, classes=10, classifier_activation=None)
        return model, shape, optimizer(1e-3)
    inputs = keras.Input(shape, dtype="int32" if name in IDS else None)
    return keras.Sequential([inputs] + body), shape, optimizer


def main():
    name, batch_size, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if name.endswith("_bf16"):
        keras.config.set_dtype_policy("mixed_bfloat16")
        name = name.removesuffix("_bf16")
    model, shape, optimizer = make_work(name)
    random = np.random.default_rng(0)
    rows = batch_size * steps
    ids = lambda: random.integers(0, IDS[name], (rows, *shape), dtype="int32")
    x = ids() if name in IDS else random.random((rows, *shape), dtype=np.float32)
    y = ids() if name == "gpt" else random.integers(0, 10, (rows,))
    model.compile(optimizer=optimizer,
                  loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  metrics=["accuracy"], jit_compile="xla" in sys.argv)
    epoch = lambda: model.fit(x, y, batch_size=batch_size, epochs=1, verbose=0)
    epoch()
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        epoch()
        print((time.perf_counter() - start) / steps * 1e3, flush=True)


main()
