# SPDX-License-Identifier: Apache-2.0
"""Random graphs of Keras's layers."""

import keras
from keras import layers

ACTIVATIONS = [None, "relu", "tanh", "sigmoid", "gelu", "silu", "elu", "softplus", "selu",
               "leaky_relu", "hard_sigmoid", "softsign", "mish"]


class Graph:
    """Vectors, sequences (time, features) and pictures (height, width, channels), and layers
    between them."""

    def __init__(self, rng):
        self.rng = rng
        self.inputs, self.sources = [], []  # sources: input, and the number of classes if integer
        self.live = []
        self.shared = []  # (layer, shape of its input), to be reused
        self.has_zero_gradients = False

    def build(self):
        """The vectors that outputs are computed from."""
        for _ in range(self.rng.choice([1, 1, 1, 2, 2, 3])):
            self.live.append(self.source())
        for _ in range(self.rng.randint(2, 9)):
            self.step()
        ends = [self.to_vector(x) for x in self.live]
        if len(ends) > 1 and self.rng.random() < 0.5:
            ends = [layers.Concatenate()(ends)]
        return ends

    def source(self):
        kind = self.rng.choice(["vector", "sequence", "picture", "picture", "tokens"])
        if kind == "tokens":
            steps = self.rng.randint(2, 5)
            size = 4 * steps + self.rng.randint(0, 4)
            x = keras.Input((steps,), dtype="int32")
            self.inputs.append(x)
            self.sources.append((x, size))
            return layers.Embedding(size, self.rng.randint(2, 4),
                                    mask_zero=self.rng.random() < 0.5)(x)
        shape = {"vector": lambda: (self.rng.randint(2, 6),),
                 "sequence": lambda: (self.rng.randint(2, 6), self.rng.randint(1, 4)),
                 "picture": lambda: (self.rng.randint(3, 8), self.rng.randint(3, 8),
                                     self.rng.choice([1, 2, 3, 4]))}[kind]()
        x = keras.Input(shape)
        self.inputs.append(x)
        self.sources.append((x, 0))
        return x

    def step(self):
        x = self.rng.choice(self.live)
        if self.rng.random() < 0.15 and self.merge(x):
            return
        if self.rng.random() < 0.15:
            known = [layer for layer, shape in self.shared if shape == x.shape]
            if known:
                return self.add(x, self.rng.choice(known)(x))
        kinds = {2: self.of_vector, 3: self.of_sequence, 4: self.of_picture}
        made = kinds[len(x.shape)](x)
        if isinstance(made, keras.Layer):
            self.shared.append((made, x.shape))
            made = made(x)
        self.add(x, made)

    def add(self, x, y):
        """Adds y in x's place, or beside it as a branch."""
        if len(y.shape) > 4 or 0 in y.shape[1:] or y.shape[-1] > 48:
            return
        at = next(i for i, other in enumerate(self.live) if other is x)
        if self.rng.random() < 0.2 and len(self.live) < 4:
            self.live.append(y)
        else:
            self.live[at] = y

    def merge(self, x):
        alike = [y for y in self.live if y is not x and y.shape == x.shape]
        if not alike:
            return False
        y = self.rng.choice(alike)
        kind = self.rng.choice([layers.Add, layers.Subtract, layers.Multiply, layers.Average,
                                layers.Maximum, layers.Minimum, layers.Concatenate, "plus"])
        z = x + 0.5 * y if kind == "plus" else kind()([x, y])
        self.live = [other for other in self.live if other is not x and other is not y] + [z]
        return True

    def to_vector(self, x):
        if len(x.shape) == 2:
            return x
        if len(x.shape) == 3:
            return self.rng.choice([layers.GlobalAveragePooling1D, layers.GlobalMaxPooling1D,
                                    layers.Flatten])()(x)
        return self.rng.choice([layers.GlobalAveragePooling2D, layers.GlobalMaxPooling2D,
                                layers.Flatten])()(x)

    # ---- options ----

    def activation(self):
        return self.rng.choice(ACTIVATIONS)

    def of_kernels(self):
        options = {"activation": self.activation(), "use_bias": self.rng.random() < 0.8}
        options |= self.rng.choice([
            {}, {}, {}, {"kernel_regularizer": keras.regularizers.L2(0.01)},
            {"kernel_regularizer": keras.regularizers.L1L2(0.01, 0.02)},
            {"activity_regularizer": keras.regularizers.L2(0.01)},
            {"kernel_constraint": keras.constraints.MaxNorm(0.9)},
            {"kernel_constraint": keras.constraints.UnitNorm()},
            {"kernel_initializer": self.rng.choice(["he_normal", "orthogonal", "random_normal"])}])
        return options

    def normalization(self, x):
        self.has_zero_gradients = True
        axes = len(x.shape) - 1
        return self.rng.choice([
            lambda: layers.BatchNormalization(momentum=self.rng.choice([0.5, 0.9, 0.99])),
            lambda: layers.BatchNormalization(scale=False, epsilon=0.01),
            lambda: layers.LayerNormalization(),
            lambda: layers.LayerNormalization(axis=list(range(1, axes + 1)), center=False),
            lambda: layers.RMSNormalization(),
            lambda: layers.GroupNormalization(groups=-1 if self.rng.random() < 0.5 else 1),
            lambda: layers.UnitNormalization(),
        ])()

    def of_any(self, x):
        return self.rng.choice([
            lambda: layers.Activation(self.activation()),
            lambda: layers.ReLU(max_value=self.rng.choice([None, 1.0])),
            lambda: layers.LeakyReLU(0.1), lambda: layers.ELU(0.5), lambda: layers.PReLU(),
            lambda: layers.Softmax(), lambda: layers.Rescaling(0.5, 0.25),
            lambda: layers.ActivityRegularization(l2=0.01), lambda: layers.Identity(),
            lambda: layers.Dropout(0.0), lambda: self.normalization(x),
            lambda: self.normalization(x), lambda: layers.Dense(self.rng.randint(2, 6),
                                                                **self.of_kernels()),
        ])()

    # ---- by rank ----

    def of_vector(self, x):
        size = x.shape[-1]
        return self.rng.choice([
            lambda: layers.Dense(self.rng.randint(2, 8), **self.of_kernels()),
            lambda: layers.Dense(self.rng.randint(2, 8), **self.of_kernels()),
            lambda: layers.EinsumDense("ab,bc->ac", output_shape=4, bias_axes="c"),
            lambda: layers.RepeatVector(self.rng.randint(1, 3)),
            lambda: layers.Reshape((size, 1) if size % 2 else (2, size // 2)),
            lambda: self.of_any(x),
        ])()

    def recurrent(self):
        kind = self.rng.choice([layers.LSTM, layers.GRU, layers.SimpleRNN])
        options = {"return_sequences": self.rng.random() < 0.6,
                   "go_backwards": self.rng.random() < 0.2, "unroll": self.rng.random() < 0.2,
                   "use_bias": self.rng.random() < 0.8}
        if kind is layers.GRU:
            options["reset_after"] = self.rng.random() < 0.5
        if kind is layers.LSTM:
            options["unit_forget_bias"] = self.rng.random() < 0.5
        return kind(self.rng.randint(1, 4), **options)

    def of_sequence(self, x):
        steps, size = x.shape[1:]
        window = self.rng.randint(1, min(3, steps))
        padding = self.rng.choice(["valid", "same"])
        return self.rng.choice([
            lambda: layers.Conv1D(self.rng.randint(1, 4), window, padding="causal",
                                  dilation_rate=self.rng.randint(1, 2), **self.of_kernels()),
            lambda: layers.Conv1D(self.rng.randint(1, 4), window, padding=padding,
                                  strides=self.rng.randint(1, 2), **self.of_kernels()),
            lambda: layers.SeparableConv1D(self.rng.randint(1, 4), window, padding=padding),
            lambda: layers.Conv1DTranspose(self.rng.randint(1, 4), window,
                                           strides=self.rng.randint(1, 2), padding=padding),
            lambda: layers.MaxPooling1D(window, padding=padding),
            lambda: layers.AveragePooling1D(window, padding=padding),
            lambda: layers.ZeroPadding1D((self.rng.randint(0, 1), 1)),
            lambda: layers.UpSampling1D(2), lambda: layers.Permute((2, 1)),
            self.recurrent, self.recurrent, self.recurrent,
            lambda: layers.Bidirectional(self.recurrent_forward(),
                                         merge_mode=self.rng.choice(["concat", "sum", "ave"])),
            lambda: layers.TimeDistributed(layers.Dense(self.rng.randint(1, 4), activation="tanh")),
            lambda: self.attention(x), lambda: self.attention(x),
            lambda: layers.Flatten(), lambda: layers.GlobalAveragePooling1D(),
            lambda: layers.Reshape((size, steps, 1)),
            lambda: self.of_any(x), lambda: self.of_any(x),
        ])()

    def recurrent_forward(self):
        layer = self.recurrent()
        layer.go_backwards = False
        # Unrolled backwards, Keras on TensorFlow zeroes outputs by the mask of the other direction.
        layer.unroll = False
        return layer

    def attention(self, x):
        self.has_zero_gradients = True
        return self.rng.choice([
            # key_dim 1 would make a bias (heads, 1), which Keras on TensorFlow adds along the time
            # axis if that has as many steps.
            lambda: layers.MultiHeadAttention(self.rng.randint(1, 3), self.rng.randint(2, 3))(
                x, x, use_causal_mask=self.rng.random() < 0.5),
            lambda: layers.GroupQueryAttention(2, 2 * self.rng.randint(1, 2), 2)(x, x),
            lambda: layers.Attention(use_scale=self.rng.random() < 0.5)([x, x]),
            lambda: layers.AdditiveAttention()([x, x]),
        ])()

    def of_picture(self, x):
        height, width, channels = x.shape[1:]
        window = (self.rng.randint(1, min(3, height)), self.rng.randint(1, min(3, width)))
        padding = self.rng.choice(["valid", "same"])
        strides = self.rng.randint(1, 2)
        return self.rng.choice([
            lambda: layers.Conv2D(self.rng.randint(1, 6), window, strides=strides, padding=padding,
                                  **self.of_kernels()),
            lambda: layers.Conv2D(self.rng.randint(1, 6), window, padding="same", dilation_rate=2,
                                  **self.of_kernels()),
            lambda: layers.Conv2D(2 * channels, window, groups=channels, padding=padding),
            lambda: layers.DepthwiseConv2D(window[0], strides=strides, padding="same",
                                           depth_multiplier=self.rng.randint(1, 2)),
            lambda: layers.SeparableConv2D(self.rng.randint(1, 4), window, padding=padding),
            lambda: layers.Conv2DTranspose(self.rng.randint(1, 4), window, strides=strides,
                                           padding=padding),
            lambda: layers.MaxPooling2D(window, padding=padding),
            lambda: layers.AveragePooling2D(window, padding=padding),
            lambda: layers.ZeroPadding2D(((1, 0), (0, self.rng.randint(0, 2)))),
            lambda: layers.Cropping2D(((1, 0), (0, 1))) if height > 2 and width > 2
            else layers.UpSampling2D(2),
            lambda: layers.UpSampling2D((1, 2)), lambda: layers.Permute((2, 1, 3)),
            lambda: layers.Flatten(), lambda: layers.GlobalAveragePooling2D(),
            lambda: layers.GlobalMaxPooling2D(),
            lambda: layers.Reshape((height, width * channels)),
            lambda: layers.TimeDistributed(layers.Dense(2)),
            lambda: self.of_any(x), lambda: self.of_any(x),
        ])()
