# SPDX-License-Identifier: Apache-2.0
"""Examples: imbalanced classification, a recommender, anomalies in a time series."""

import keras
import numpy as np
from guide import history, initialize, labels, number, positive, tensor, values
from keras import layers, ops


def imbalanced_classification():
    features = values((200, 30), 900)
    targets = (labels(200, 10, 901) == 0).astype("uint8")[:, None]
    num_val_samples = int(len(features) * 0.2)
    train_features, train_targets = features[:-num_val_samples], targets[:-num_val_samples]
    val_features, val_targets = features[-num_val_samples:], targets[-num_val_samples:]

    # Analyze class imbalance in the targets
    counts = np.bincount(train_targets[:, 0])
    weight_for_0 = 1.0 / counts[0]
    weight_for_1 = 1.0 / counts[1]

    # Normalize the data using training set statistics
    mean = ops.mean(train_features, axis=0)
    train_features = train_features - mean
    val_features = val_features - mean
    std = ops.std(train_features, axis=0)
    train_features = ops.convert_to_numpy(train_features / std)
    val_features = ops.convert_to_numpy(val_features / std)

    model = keras.Sequential(
        [
            keras.Input(shape=train_features.shape[1:]),
            keras.layers.Dense(256, activation="relu"),
            keras.layers.Dense(256, activation="relu"),
            keras.layers.Dropout(0.0),
            keras.layers.Dense(256, activation="relu"),
            keras.layers.Dropout(0.0),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    initialize(model, 902)
    metrics = [
        keras.metrics.FalseNegatives(name="fn"),
        keras.metrics.FalsePositives(name="fp"),
        keras.metrics.TrueNegatives(name="tn"),
        keras.metrics.TruePositives(name="tp"),
        keras.metrics.Precision(name="precision"),
        keras.metrics.Recall(name="recall"),
    ]
    model.compile(
        optimizer=keras.optimizers.SGD(5.0), loss="binary_crossentropy", metrics=metrics
    )
    class_weight = {0: weight_for_0, 1: weight_for_1}
    result = model.fit(
        train_features,
        train_targets,
        batch_size=64,
        epochs=3,
        validation_data=(val_features, val_targets),
        class_weight=class_weight,
        shuffle=False,
        verbose=0,
    )
    return {
        "counts": [int(n) for n in counts],
        "features": tensor(train_features[:2, :5]),
        "history": history(result),
    }


class RecommenderNet(keras.Model):
    def __init__(self, num_users, num_movies, embedding_size, **kwargs):
        super().__init__(**kwargs)
        self.user_embedding = layers.Embedding(
            num_users,
            embedding_size,
            embeddings_initializer="he_normal",
            embeddings_regularizer=keras.regularizers.l2(1e-6),
        )
        self.user_bias = layers.Embedding(num_users, 1)
        self.movie_embedding = layers.Embedding(
            num_movies,
            embedding_size,
            embeddings_initializer="he_normal",
            embeddings_regularizer=keras.regularizers.l2(1e-6),
        )
        self.movie_bias = layers.Embedding(num_movies, 1)

    def call(self, inputs):
        user_vector = self.user_embedding(inputs[:, 0])
        user_bias = self.user_bias(inputs[:, 0])
        movie_vector = self.movie_embedding(inputs[:, 1])
        movie_bias = self.movie_bias(inputs[:, 1])
        dot_user_movie = ops.sum(user_vector * movie_vector, axis=1, keepdims=True)
        # Add all the components (including bias)
        x = dot_user_movie + user_bias + movie_bias
        # The sigmoid activation forces the rating to between 0 and 1
        return ops.nn.sigmoid(x)


def recommender():
    x = np.stack([labels(96, 20, 911), labels(96, 30, 912)], axis=1)
    y = positive((96,), 913)
    model = RecommenderNet(20, 30, 8)
    model(x[:1])
    initialize(model, 910)
    model.compile(
        loss=keras.losses.BinaryCrossentropy(),
        optimizer=keras.optimizers.SGD(learning_rate=0.5),
    )
    result = model.fit(
        x=x,
        y=y,
        batch_size=32,
        epochs=3,
        shuffle=False,
        verbose=0,
        validation_data=(x[:32], y[:32]),
    )
    # Show the top recommendations to a user
    user_movie_array = np.hstack(
        ([[3]] * 30, np.arange(30, dtype="int32")[:, None]),
    ).astype("int32")
    ratings = model.predict(user_movie_array, verbose=0).flatten()
    return {
        "history": history(result),
        "paths": [weight.path for weight in model.weights],
        "top": [int(i) for i in ratings.argsort()[-5:][::-1]],
        "ratings": tensor(ratings),
    }


TIME_STEPS = 32


def create_sequences(series, time_steps=TIME_STEPS):
    output = []
    for i in range(len(series) - time_steps + 1):
        output.append(series[i : (i + time_steps)])
    return np.stack(output)


def timeseries_anomaly():
    step = np.arange(120, dtype="float32")
    wave = np.sin(step * np.float32(0.25)).astype("float32")
    series = wave + values((120,), 920, 0.125)
    training_mean, training_std = series.mean(dtype="float64"), series.std(dtype="float64")
    normalized = ((series - np.float32(training_mean)) / np.float32(training_std))[:, None]
    x_train = create_sequences(normalized)

    model = keras.Sequential(
        [
            layers.Input(shape=(x_train.shape[1], x_train.shape[2])),
            layers.Conv1D(
                filters=32, kernel_size=7, padding="same", strides=2, activation="relu"
            ),
            layers.Dropout(rate=0.0),
            layers.Conv1D(
                filters=16, kernel_size=7, padding="same", strides=2, activation="relu"
            ),
            layers.Conv1DTranspose(
                filters=16, kernel_size=7, padding="same", strides=2, activation="relu"
            ),
            layers.Dropout(rate=0.0),
            layers.Conv1DTranspose(
                filters=32, kernel_size=7, padding="same", strides=2, activation="relu"
            ),
            layers.Conv1DTranspose(filters=1, kernel_size=7, padding="same"),
        ]
    )
    initialize(model, 921)
    model.compile(optimizer=keras.optimizers.Adam(learning_rate=0.001), loss="mse")
    result = model.fit(
        x_train,
        x_train,
        epochs=3,
        batch_size=32,
        validation_split=0.1,
        callbacks=[keras.callbacks.EarlyStopping(monitor="val_loss", patience=5, mode="min")],
        shuffle=False,
        verbose=0,
    )
    # Get train MAE loss.
    x_train_pred = model.predict(x_train, verbose=0)
    train_mae_loss = np.mean(np.abs(x_train_pred - x_train), axis=1)
    # Get reconstruction loss threshold.
    threshold = np.max(train_mae_loss)

    # A series with a bump: which sequences have a high reconstruction error?
    bumped = normalized.copy()
    bumped[60:66] += np.float32(3)
    x_test = create_sequences(bumped)
    test_mae_loss = np.mean(np.abs(model.predict(x_test, verbose=0) - x_test), axis=1)
    anomalies = (test_mae_loss > threshold).reshape(-1)
    # data i is an anomaly if samples [(i - timesteps + 1) to (i)] are anomalies
    anomalous_data_indices = [
        data_idx
        for data_idx in range(TIME_STEPS - 1, len(bumped) - TIME_STEPS + 1)
        if np.all(anomalies[data_idx - TIME_STEPS + 1 : data_idx])
    ]
    return {
        "shape": list(x_train.shape),
        "history": history(result),
        "threshold": number(threshold),
        "anomalies": [int(i) for i in np.nonzero(anomalies)[0]],
        "indices": anomalous_data_indices,
    }


CASES = [imbalanced_classification, recommender, timeseries_anomaly]
