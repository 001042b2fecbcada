# SPDX-License-Identifier: Apache-2.0
"""Examples: a Swin transformer's shifted windows, a miniature GPT that generates text while it
trains."""

import keras
import numpy as np
from guide import history, initialize, labels, tensor, values
from keras import layers, ops


def window_partition(x, window_size):
    _, height, width, channels = x.shape
    x = ops.reshape(
        x, (-1, height // window_size, window_size, width // window_size, window_size, channels)
    )
    x = ops.transpose(x, (0, 1, 3, 2, 4, 5))
    return ops.reshape(x, (-1, window_size, window_size, channels))


def window_reverse(windows, window_size, height, width, channels):
    x = ops.reshape(
        windows,
        (-1, height // window_size, width // window_size, window_size, window_size, channels),
    )
    x = ops.transpose(x, (0, 1, 3, 2, 4, 5))
    return ops.reshape(x, (-1, height, width, channels))


class WindowAttention(layers.Layer):
    def __init__(self, dim, window_size, num_heads, **kwargs):
        super().__init__(**kwargs)
        self.window_size, self.num_heads = window_size, num_heads
        self.scale = (dim // num_heads) ** -0.5
        self.qkv = layers.Dense(dim * 3)
        self.proj = layers.Dense(dim)
        self.relative_position_bias_table = self.add_weight(
            shape=((2 * window_size - 1) ** 2, num_heads), initializer="zeros"
        )
        coords = np.stack(np.meshgrid(*[np.arange(window_size)] * 2, indexing="ij"))
        flat = coords.reshape(2, -1)
        relative = flat[:, :, None] - flat[:, None, :] + window_size - 1
        self.relative_position_index = relative[0] * (2 * window_size - 1) + relative[1]

    def call(self, x, mask=None):
        _, size, channels = x.shape
        head_dim = channels // self.num_heads
        qkv = ops.reshape(self.qkv(x), (-1, size, 3, self.num_heads, head_dim))
        qkv = ops.transpose(qkv, (2, 0, 3, 1, 4))
        q, k, v = qkv[0], qkv[1], qkv[2]
        attn = (q * self.scale) @ ops.transpose(k, (0, 1, 3, 2))
        index = ops.reshape(self.relative_position_index, (-1,))
        bias = ops.take(self.relative_position_bias_table, index, axis=0)
        bias = ops.transpose(ops.reshape(bias, (size, size, -1)), (2, 0, 1))
        attn = attn + ops.expand_dims(bias, 0)
        if mask is not None:
            windows = mask.shape[0]
            attn = ops.reshape(attn, (-1, windows, self.num_heads, size, size))
            attn = attn + ops.expand_dims(ops.expand_dims(mask, 1), 0)
            attn = ops.reshape(attn, (-1, self.num_heads, size, size))
        x = ops.softmax(attn, axis=-1) @ v
        x = ops.reshape(ops.transpose(x, (0, 2, 1, 3)), (-1, size, channels))
        return self.proj(x)


def zones(side, window_size, shift_size):
    """The zone index of each pixel in a shifted image, (1, side, side, 1)."""
    place = np.arange(side)
    zone = (place >= side - window_size).astype(int) + (place >= side - shift_size)
    return (zone[:, None] * 3 + zone).reshape(1, side, side, 1)


class SwinTransformer(layers.Layer):
    def __init__(self, dim, side, num_heads, window_size, shift_size=0, num_mlp=32, **kwargs):
        super().__init__(**kwargs)
        self.side, self.window_size, self.shift_size = side, window_size, shift_size
        self.norm1 = layers.LayerNormalization(epsilon=1e-5)
        self.attn = WindowAttention(dim, window_size, num_heads)
        self.norm2 = layers.LayerNormalization(epsilon=1e-5)
        self.mlp = keras.Sequential(
            [
                layers.Dense(num_mlp),
                layers.Activation(keras.activations.gelu),
                layers.Dense(dim),
            ]
        )

    def build(self, input_shape):
        self.attn_mask = None
        if self.shift_size == 0:
            return
        parts = ops.convert_to_tensor(zones(self.side, self.window_size, self.shift_size))
        parts = ops.reshape(window_partition(parts, self.window_size), (-1, self.window_size**2))
        apart = ops.expand_dims(parts, 1) - ops.expand_dims(parts, 2)
        self.attn_mask = ops.where(apart != 0, -100.0, 0.0)

    def call(self, x):
        side, window_size, shift = self.side, self.window_size, self.shift_size
        channels = x.shape[-1]
        x_skip = x
        x = ops.reshape(self.norm1(x), (-1, side, side, channels))
        if shift > 0:
            x = ops.roll(x, shift=[-shift, -shift], axis=[1, 2])
        windows = window_partition(x, window_size)
        windows = ops.reshape(windows, (-1, window_size**2, channels))
        windows = self.attn(windows, mask=self.attn_mask)
        windows = ops.reshape(windows, (-1, window_size, window_size, channels))
        x = window_reverse(windows, window_size, side, side, channels)
        if shift > 0:
            x = ops.roll(x, shift=[shift, shift], axis=[1, 2])
        x = x_skip + ops.reshape(x, (-1, side * side, channels))
        return x + self.mlp(self.norm2(x))


class PatchMerging(layers.Layer):
    def __init__(self, side, embed_dim):
        super().__init__()
        self.side = side
        self.linear_trans = layers.Dense(2 * embed_dim, use_bias=False)

    def call(self, x):
        channels = x.shape[-1]
        x = ops.reshape(x, (-1, self.side, self.side, channels))
        x0 = x[:, 0::2, 0::2, :]
        x1 = x[:, 1::2, 0::2, :]
        x2 = x[:, 0::2, 1::2, :]
        x3 = x[:, 1::2, 1::2, :]
        x = ops.concatenate((x0, x1, x2, x3), axis=-1)
        return self.linear_trans(ops.reshape(x, (-1, (self.side // 2) ** 2, 4 * channels)))


def swin():
    inputs = layers.Input(shape=(16, 6))
    x = layers.Dense(8)(inputs)
    x = SwinTransformer(8, 4, num_heads=2, window_size=2)(x)
    x = SwinTransformer(8, 4, num_heads=2, window_size=2, shift_size=1)(x)
    x = PatchMerging(4, 8)(x)
    x = layers.GlobalAveragePooling1D()(x)
    model = keras.Model(inputs, layers.Dense(5, activation="softmax")(x))
    initialize(model, 1400)
    model.compile(
        loss=keras.losses.CategoricalCrossentropy(label_smoothing=0.1),
        optimizer=keras.optimizers.AdamW(learning_rate=1e-3, weight_decay=1e-4),
        metrics=[
            keras.metrics.CategoricalAccuracy(name="accuracy"),
            keras.metrics.TopKCategoricalAccuracy(3, name="top-3-accuracy"),
        ],
    )
    y = keras.utils.to_categorical(labels(20, 5, 1401), 5)
    result = model.fit(
        values((20, 16, 6), 1402), y, batch_size=8, epochs=3, shuffle=False, verbose=0
    )
    return {
        "history": history(result),
        "predictions": tensor(model.predict(values((3, 16, 6), 1403), verbose=0)),
    }


class TransformerBlock(layers.Layer):
    def __init__(self, embed_dim, num_heads, ff_dim):
        super().__init__()
        self.att = layers.MultiHeadAttention(num_heads, embed_dim)
        self.ffn = keras.Sequential(
            [layers.Dense(ff_dim, activation="relu"), layers.Dense(embed_dim)]
        )
        self.layernorm1 = layers.LayerNormalization(epsilon=1e-6)
        self.layernorm2 = layers.LayerNormalization(epsilon=1e-6)

    def call(self, inputs):
        length = ops.shape(inputs)[1]
        causal = ops.expand_dims(ops.arange(length), 1) >= ops.arange(length)
        attention = self.att(inputs, inputs, attention_mask=ops.expand_dims(causal, 0))
        out1 = self.layernorm1(inputs + attention)
        return self.layernorm2(out1 + self.ffn(out1))


class TokenAndPositionEmbedding(layers.Layer):
    def __init__(self, maxlen, vocab_size, embed_dim):
        super().__init__()
        self.token_emb = layers.Embedding(input_dim=vocab_size, output_dim=embed_dim)
        self.pos_emb = layers.Embedding(input_dim=maxlen, output_dim=embed_dim)

    def call(self, x):
        positions = self.pos_emb(ops.arange(0, ops.shape(x)[-1], 1))
        return self.token_emb(x) + positions


class TextGenerator(keras.callbacks.Callback):
    """Generates the most likely tokens after each epoch."""

    def __init__(self, maxlen, max_tokens, start_tokens):
        super().__init__()
        self.maxlen, self.max_tokens, self.start_tokens = maxlen, max_tokens, start_tokens
        self.written = []

    def on_epoch_end(self, epoch, logs=None):
        tokens = list(self.start_tokens)
        for _ in range(self.max_tokens):
            x = np.array([tokens + [0] * (self.maxlen - len(tokens))])
            y, _ = self.model.predict(x, verbose=0)
            _, indices = ops.top_k(y[0][len(tokens) - 1], k=3, sorted=True)
            tokens.append(int(indices[0]))
        self.written.append(tokens)


def miniature_gpt():
    vocab_size, maxlen = 20, 10
    inputs = layers.Input(shape=(maxlen,), dtype="int32")
    x = TokenAndPositionEmbedding(maxlen, vocab_size, 8)(inputs)
    x = TransformerBlock(8, 2, 8)(x)
    model = keras.Model(inputs=inputs, outputs=[layers.Dense(vocab_size)(x), x])
    # No loss and optimization based on word embeddings from transformer block
    loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss=[loss_fn, None])
    initialize(model, 1420)
    tokens = labels(24 * 11, vocab_size, 1421).reshape(24, 11)
    generator = TextGenerator(maxlen, 5, [1, 2, 3])
    result = model.fit(
        tokens[:, :-1],
        tokens[:, 1:],
        batch_size=8,
        epochs=3,
        callbacks=[generator],
        shuffle=False,
        verbose=0,
    )
    return {"history": history(result), "written": generator.written}


CASES = (swin, miniature_gpt)
