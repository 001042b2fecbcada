# SPDX-License-Identifier: Apache-2.0
"""Guide: the functional API."""

import keras
import numpy as np
from guide import history, initialize, labels, logs, summary, tensor, values
from keras import layers


def functional_mlp():
    inputs = keras.Input(shape=(784,))
    dense = layers.Dense(64, activation="relu")
    x = dense(inputs)
    x = layers.Dense(64, activation="relu")(x)
    outputs = layers.Dense(10)(x)
    model = keras.Model(inputs=inputs, outputs=outputs, name="mnist_model")
    initialize(model, 10)

    model.compile(
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=keras.optimizers.RMSprop(),
        metrics=["accuracy"],
    )
    x_train, y_train = values((80, 784), 11), labels(80, 10, 12)
    result = model.fit(
        x_train, y_train, batch_size=16, epochs=2, validation_split=0.2, shuffle=False, verbose=0
    )
    scores = model.evaluate(x_train, y_train, verbose=0, return_dict=True)
    return {
        "summary": summary(model),
        "history": history(result),
        "scores": logs(scores),
        "predictions": tensor(model.predict(x_train[:3], verbose=0)),
    }


def functional_autoencoder():
    encoder_input = keras.Input(shape=(28, 28, 1), name="original_img")
    x = layers.Conv2D(16, 3, activation="relu")(encoder_input)
    x = layers.Conv2D(32, 3, activation="relu")(x)
    x = layers.MaxPooling2D(3)(x)
    x = layers.Conv2D(32, 3, activation="relu")(x)
    x = layers.Conv2D(16, 3, activation="relu")(x)
    encoder_output = layers.GlobalMaxPooling2D()(x)
    encoder = keras.Model(encoder_input, encoder_output, name="encoder")

    decoder_input = keras.Input(shape=(16,), name="encoded_img")
    x = layers.Reshape((4, 4, 1))(decoder_input)
    x = layers.Conv2DTranspose(16, 3, activation="relu")(x)
    x = layers.Conv2DTranspose(32, 3, activation="relu")(x)
    x = layers.UpSampling2D(3)(x)
    x = layers.Conv2DTranspose(16, 3, activation="relu")(x)
    decoder_output = layers.Conv2DTranspose(1, 3, activation="relu")(x)
    decoder = keras.Model(decoder_input, decoder_output, name="decoder")

    autoencoder_input = keras.Input(shape=(28, 28, 1), name="img")
    encoded_img = encoder(autoencoder_input)
    decoded_img = decoder(encoded_img)
    autoencoder = keras.Model(autoencoder_input, decoded_img, name="autoencoder")
    initialize(autoencoder, 20)
    decoded = autoencoder.predict(values((2, 28, 28, 1), 21), verbose=0)
    return {
        "encoder": summary(encoder),
        "decoder": summary(decoder),
        "autoencoder": summary(autoencoder),
        "encoded": tensor(encoder.predict(values((2, 28, 28, 1), 21), verbose=0)),
        "center": tensor(decoded[:, 12:16, 12:16, 0]),
    }


def functional_ensemble():
    def get_model():
        inputs = keras.Input(shape=(128,))
        outputs = layers.Dense(1)(inputs)
        return keras.Model(inputs, outputs)

    model1 = get_model()
    model2 = get_model()
    model3 = get_model()

    inputs = keras.Input(shape=(128,))
    y1 = model1(inputs)
    y2 = model2(inputs)
    y3 = model3(inputs)
    outputs = layers.average([y1, y2, y3])
    ensemble_model = keras.Model(inputs=inputs, outputs=outputs)
    initialize(ensemble_model, 30)
    return {"y": tensor(ensemble_model(values((4, 128), 31))), "summary": summary(ensemble_model)}


def ticket_model():
    num_tags = 12  # number of unique issue tags
    num_words = 100  # size of vocabulary obtained when preprocessing text data
    num_departments = 4  # number of departments for predictions

    title_input = keras.Input(shape=(None,), name="title")
    body_input = keras.Input(shape=(None,), name="body")
    tags_input = keras.Input(shape=(num_tags,), name="tags")
    title_features = layers.Embedding(num_words, 8)(title_input)
    body_features = layers.Embedding(num_words, 8)(body_input)
    title_features = layers.GlobalAveragePooling1D()(title_features)
    body_features = layers.GlobalAveragePooling1D()(body_features)
    x = layers.concatenate([title_features, body_features, tags_input])
    priority_pred = layers.Dense(1, name="priority")(x)
    department_pred = layers.Dense(num_departments, name="department")(x)
    return keras.Model(
        inputs=[title_input, body_input, tags_input],
        outputs={"priority": priority_pred, "department": department_pred},
    )


def ticket_data():
    inputs = {
        "title": labels(40 * 10, 100, 41).reshape(40, 10),
        "body": labels(40 * 20, 100, 42).reshape(40, 20),
        "tags": labels(40 * 12, 2, 43).reshape(40, 12).astype("float32"),
    }
    targets = {
        "priority": values((40, 1), 44),
        "department": np.eye(4, dtype="float32")[labels(40, 4, 45)],
    }
    return inputs, targets


def functional_tickets():
    model = ticket_model()
    initialize(model, 40)
    model.compile(
        optimizer=keras.optimizers.RMSprop(1e-3),
        loss={
            "priority": keras.losses.BinaryCrossentropy(from_logits=True),
            "department": keras.losses.CategoricalCrossentropy(from_logits=True),
        },
        loss_weights={"priority": 1.0, "department": 0.2},
    )
    x, y = ticket_data()
    result = model.fit(x, y, epochs=2, batch_size=16, shuffle=False, verbose=0)
    predictions = model.predict(x, verbose=0)
    return {
        "history": history(result),
        "priority": tensor(predictions["priority"][:4]),
        "department": tensor(predictions["department"][:4]),
    }


def functional_shared():
    shared_embedding = layers.Embedding(1000, 128)
    text_input_a = keras.Input(shape=(None,), dtype="int32")
    text_input_b = keras.Input(shape=(None,), dtype="int32")
    encoded_input_a = shared_embedding(text_input_a)
    encoded_input_b = shared_embedding(text_input_b)
    model = keras.Model([text_input_a, text_input_b], [encoded_input_a, encoded_input_b])
    return {"weights": [weight.path for weight in model.weights], "params": model.count_params()}


def functional_toy_resnet():
    inputs = keras.Input(shape=(32, 32, 3), name="img")
    x = layers.Conv2D(32, 3, activation="relu")(inputs)
    x = layers.Conv2D(64, 3, activation="relu")(x)
    block_1_output = layers.MaxPooling2D(3)(x)

    x = layers.Conv2D(64, 3, activation="relu", padding="same")(block_1_output)
    x = layers.Conv2D(64, 3, activation="relu", padding="same")(x)
    block_2_output = layers.add([x, block_1_output])

    x = layers.Conv2D(64, 3, activation="relu", padding="same")(block_2_output)
    x = layers.Conv2D(64, 3, activation="relu", padding="same")(x)
    block_3_output = layers.add([x, block_2_output])

    x = layers.Conv2D(64, 3, activation="relu")(block_3_output)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dense(256, activation="relu")(x)
    outputs = layers.Dense(10)(x)
    model = keras.Model(inputs, outputs, name="toy_resnet")
    initialize(model, 50)

    model.compile(
        optimizer=keras.optimizers.SGD(1e-2),
        loss=keras.losses.CategoricalCrossentropy(from_logits=True),
        metrics=["acc"],
    )
    x_train = values((16, 32, 32, 3), 51)
    y_train = keras.utils.to_categorical(labels(16, 10, 52), 10)
    result = model.fit(
        x_train, y_train, batch_size=4, epochs=2, validation_split=0.25, shuffle=False, verbose=0
    )
    return {"summary": summary(model), "history": history(result)}


class CustomDense(layers.Layer):
    def __init__(self, units=32):
        super().__init__()
        self.units = units

    def build(self, input_shape):
        self.w = self.add_weight(
            shape=(input_shape[-1], self.units), initializer="random_normal", trainable=True
        )
        self.b = self.add_weight(
            shape=(self.units,), initializer="random_normal", trainable=True
        )

    def call(self, inputs):
        return keras.ops.matmul(inputs, self.w) + self.b

    def get_config(self):
        return {"units": self.units}


def functional_custom_layer():
    inputs = keras.Input((4,))
    outputs = CustomDense(10)(inputs)
    model = keras.Model(inputs, outputs)
    config = model.get_config()
    new_model = keras.Model.from_config(config, custom_objects={"CustomDense": CustomDense})
    initialize(new_model, 60)
    return {"y": tensor(new_model(values((2, 4), 61)))}


class CustomRNN(layers.Layer):
    def __init__(self, units, timesteps):
        super().__init__()
        self.units = units
        self.timesteps = timesteps
        self.projection_1 = layers.Dense(units=units, activation="tanh")
        self.projection_2 = layers.Dense(units=units, activation="tanh")
        pooled = keras.Input((units,))
        self.classifier = keras.Model(pooled, layers.Dense(1, activation="sigmoid")(pooled))

    def call(self, inputs):
        outputs = []
        state = keras.ops.zeros(shape=(inputs.shape[0], self.units))
        for t in range(self.timesteps):
            x = inputs[:, t, :]
            h = self.projection_1(x)
            y = h + self.projection_2(state)
            state = y
            outputs.append(y)
        features = keras.ops.stack(outputs, axis=1)  # (batch, timesteps, units)
        return self.classifier(keras.ops.mean(features, axis=1))


def functional_custom_rnn():
    rnn = CustomRNN(units=8, timesteps=5)
    inputs = keras.Input(batch_shape=(2, 5, 3))
    x = layers.Conv1D(8, 3, padding="same")(inputs)
    outputs = rnn(x)
    model = keras.Model(inputs, outputs)
    initialize(model, 70)
    return {
        "y": tensor(model(values((2, 5, 3), 71))),
        "shapes": [list(weight.shape) for weight in model.weights],
    }


CASES = [
    functional_mlp,
    functional_autoencoder,
    functional_ensemble,
    functional_tickets,
    functional_shared,
    functional_toy_resnet,
    functional_custom_layer,
    functional_custom_rnn,
]
