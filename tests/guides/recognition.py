# SPDX-License-Identifier: Apache-2.0
"""Examples: reading text in images (CTC), classifying videos, attention over a graph."""

import keras
import numpy as np
import tensorflow as tf
from guide import history, initialize, labels, positive, tensor, values
from keras import layers, ops


class CTCLayer(layers.Layer):
    def call(self, y_true, y_pred):
        batch_len = ops.shape(y_true)[0]
        input_length = ops.shape(y_pred)[1] * ops.ones((batch_len,), dtype="int32")
        label_length = ops.shape(y_true)[1] * ops.ones((batch_len,), dtype="int32")
        loss = ops.ctc_loss(ops.cast(y_true, "int32"), y_pred, label_length, input_length)
        self.add_loss(ops.mean(loss))
        # At test time, just return the computed predictions
        return y_pred


def captcha_ocr():
    input_img = layers.Input(shape=(24, 8, 1), name="image")
    label = layers.Input(name="label", shape=(None,), dtype="float32")
    x = layers.Conv2D(4, (3, 3), activation="relu", padding="same", name="Conv1")(input_img)
    x = layers.MaxPooling2D((2, 2), name="pool1")(x)
    x = layers.Reshape(target_shape=(12, 16), name="reshape")(x)
    x = layers.Dense(8, activation="relu", name="dense1")(x)
    x = layers.Bidirectional(layers.LSTM(8, return_sequences=True))(x)
    x = layers.Bidirectional(layers.LSTM(4, return_sequences=True))(x)
    x = layers.Dense(6 + 1, name="dense2")(x)
    output = CTCLayer(name="ctc_loss")(label, x)
    model = keras.Model(inputs=[input_img, label], outputs=output, name="ocr_model_v1")
    initialize(model, 1500)
    model.compile(optimizer=keras.optimizers.Adam())
    images = positive((16, 24, 8, 1), 1501)
    texts = labels(48, 6, 1502).reshape(16, 3) + 1
    dataset = tf.data.Dataset.from_tensor_slices({"image": images, "label": texts}).batch(8)
    result = model.fit(dataset, validation_data=dataset, epochs=3, verbose=0)
    prediction_model = keras.Model(model.input[0], model.get_layer(name="dense2").output)
    predictions = prediction_model.predict(images[:4], verbose=0)
    decoded, scores = ops.ctc_decode(predictions, np.full(4, 12), strategy="greedy")
    return {
        "history": history(result),
        "decoded": tensor(decoded[0]),
        "scores": tensor(scores),
    }


class MinimalRNNCell(layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.state_size = units

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], self.units), name="kernel")
        self.recurrent_kernel = self.add_weight(
            shape=(self.units, self.units), name="recurrent_kernel"
        )

    def call(self, inputs, states):
        output = ops.matmul(inputs, self.kernel) + ops.matmul(states[0], self.recurrent_kernel)
        return output, [output]


def video_classification():
    frames = keras.Input((5, 6, 6, 1))
    mask = keras.Input((5,), dtype="bool")
    feature_extractor = keras.Sequential(
        [
            keras.Input((6, 6, 1)),
            layers.Conv2D(4, 3, activation="relu"),
            layers.GlobalAveragePooling2D(),
        ]
    )
    x = layers.TimeDistributed(feature_extractor)(frames)
    x = layers.GRU(6, return_sequences=True)(x, mask=mask)
    x = layers.RNN([MinimalRNNCell(5), MinimalRNNCell(4)])(x)
    model = keras.Model([frames, mask], layers.Dense(3, activation="softmax")(x))
    initialize(model, 1520)
    model.compile(loss="sparse_categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
    lengths = np.arange(16).reshape(16, 1) % 4 + 2
    result = model.fit(
        [positive((16, 5, 6, 6, 1), 1521), np.arange(5) < lengths],
        labels(16, 3, 1522),
        batch_size=8,
        epochs=3,
        shuffle=False,
        verbose=0,
    )
    return {"history": history(result)}


class GraphAttention(layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def build(self, input_shape):
        self.kernel = self.add_weight(
            shape=(input_shape[0][-1], self.units),
            initializer="glorot_uniform",
            regularizer="l2",
            name="kernel",
        )
        self.kernel_attention = self.add_weight(shape=(self.units * 2, 1), name="kernel_attention")

    def call(self, inputs):
        node_states, edges = inputs
        nodes = ops.shape(node_states)[0]
        transformed = ops.matmul(node_states, self.kernel)
        pairs = ops.reshape(ops.take(transformed, edges, axis=0), (ops.shape(edges)[0], -1))
        scores = ops.squeeze(ops.leaky_relu(ops.matmul(pairs, self.kernel_attention)), -1)
        scores = ops.exp(ops.clip(scores, -2, 2))
        targets, sources = edges[:, 0], edges[:, 1]
        sums = ops.segment_sum(scores, targets, num_segments=nodes)
        weights = ops.expand_dims(scores / ops.take(sums, targets, axis=0), 1)
        return ops.segment_sum(
            ops.take(transformed, sources, axis=0) * weights, targets, num_segments=nodes
        )


class GraphAttentionNetwork(keras.Model):
    def __init__(self, node_states, edges, hidden_units, num_heads, output_dim):
        super().__init__()
        self.node_states, self.edges = node_states, edges
        self.attention_layers = [GraphAttention(hidden_units) for _ in range(num_heads)]
        self.output_layer = layers.Dense(output_dim)

    def call(self, inputs):
        heads = [layer(inputs) for layer in self.attention_layers]
        return self.output_layer(ops.relu(ops.concatenate(heads, axis=-1)))

    def train_step(self, data):
        indices, targets = data
        with tf.GradientTape() as tape:
            outputs = self([self.node_states, self.edges])
            loss = self.compute_loss(y=targets, y_pred=ops.take(outputs, indices, axis=0))
        grads = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(grads, self.trainable_weights))
        return {"batch_loss": loss}

    def predict_step(self, data):
        outputs = self([self.node_states, self.edges])
        return ops.softmax(ops.take(outputs, data, axis=0))


def graph_attention():
    node_states = tf.constant(values((20, 6), 1540))
    edges = tf.constant(np.stack([labels(60, 20, 1541), labels(60, 20, 1542)], axis=1))
    model = GraphAttentionNetwork(node_states, edges, 4, 2, 3)
    model([node_states, edges])
    initialize(model, 1543)
    model.compile(
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=keras.optimizers.SGD(0.1, momentum=0.9),
    )
    result = model.fit(
        np.arange(16), labels(16, 3, 1544), batch_size=8, epochs=3, shuffle=False, verbose=0
    )
    return {
        "history": history(result),
        "predictions": tensor(model.predict(np.arange(16, 20), verbose=0)),
    }


CASES = (captcha_ocr, video_classification, graph_attention)
