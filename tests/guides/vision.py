# SPDX-License-Identifier: Apache-2.0
"""Examples: MNIST convnet, convolutional autoencoder, siamese network, FGSM."""

import keras
import numpy as np
import tensorflow as tf
from guide import history, initialize, labels, logs, number, positive, summary, tensor
from keras import layers, ops


def mnist_convnet():
    num_classes = 10
    model = keras.Sequential(
        [
            keras.Input(shape=(28, 28, 1)),
            layers.Conv2D(32, kernel_size=(3, 3), activation="relu"),
            layers.MaxPooling2D(pool_size=(2, 2)),
            layers.Conv2D(64, kernel_size=(3, 3), activation="relu"),
            layers.MaxPooling2D(pool_size=(2, 2)),
            layers.Flatten(),
            layers.Dropout(0.0),
            layers.Dense(num_classes, activation="softmax"),
        ]
    )
    initialize(model, 800)
    x_train = positive((40, 28, 28), 801)
    x_train = np.expand_dims(x_train, -1)
    y_train = keras.utils.to_categorical(labels(40, num_classes, 802), num_classes)
    model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
    result = model.fit(
        x_train,
        y_train,
        batch_size=16,
        epochs=2,
        validation_split=0.1,
        shuffle=False,
        verbose=0,
    )
    score = model.evaluate(x_train, y_train, verbose=0, return_dict=True)
    return {"summary": summary(model), "history": history(result), "score": logs(score)}


def autoencoder_example():
    input = layers.Input(shape=(28, 28, 1))
    # Encoder
    x = layers.Conv2D(32, (3, 3), activation="relu", padding="same")(input)
    x = layers.MaxPooling2D((2, 2), padding="same")(x)
    x = layers.Conv2D(32, (3, 3), activation="relu", padding="same")(x)
    x = layers.MaxPooling2D((2, 2), padding="same")(x)
    # Decoder
    x = layers.Conv2DTranspose(32, (3, 3), strides=2, activation="relu", padding="same")(x)
    x = layers.Conv2DTranspose(32, (3, 3), strides=2, activation="relu", padding="same")(x)
    x = layers.Conv2D(1, (3, 3), activation="sigmoid", padding="same")(x)
    # Autoencoder
    autoencoder = keras.Model(input, x)
    initialize(autoencoder, 810)
    autoencoder.compile(optimizer="adam", loss="binary_crossentropy")
    data = positive((24, 28, 28, 1), 811)
    noisy = ops.clip(data + 0.4 * (positive((24, 28, 28, 1), 812) - 0.5), 0.0, 1.0)
    result = autoencoder.fit(
        x=ops.convert_to_numpy(noisy),
        y=data,
        epochs=2,
        batch_size=8,
        shuffle=False,
        validation_data=(data[:8], data[:8]),
        verbose=0,
    )
    return {"summary": summary(autoencoder), "history": history(result)}


def euclidean_distance(vects):
    x, y = vects
    sum_square = ops.sum(ops.square(x - y), axis=1, keepdims=True)
    return ops.sqrt(ops.maximum(sum_square, keras.backend.epsilon()))


def loss(margin=1):
    """Provides 'contrastive_loss' an enclosing scope with variable 'margin'."""

    def contrastive_loss(y_true, y_pred):
        square_pred = ops.square(y_pred)
        margin_square = ops.square(ops.maximum(margin - (y_pred), 0))
        return ops.mean((1 - y_true) * square_pred + (y_true) * margin_square)

    return contrastive_loss


def siamese_contrastive():
    input = keras.layers.Input((28, 28, 1))
    x = keras.layers.BatchNormalization()(input)
    x = keras.layers.Conv2D(4, (5, 5), activation="tanh")(x)
    x = keras.layers.AveragePooling2D(pool_size=(2, 2))(x)
    x = keras.layers.Conv2D(16, (5, 5), activation="tanh")(x)
    x = keras.layers.AveragePooling2D(pool_size=(2, 2))(x)
    x = keras.layers.Flatten()(x)
    x = keras.layers.BatchNormalization()(x)
    x = keras.layers.Dense(10, activation="tanh")(x)
    embedding_network = keras.Model(input, x)

    input_1 = keras.layers.Input((28, 28, 1))
    input_2 = keras.layers.Input((28, 28, 1))
    # As mentioned above, Siamese Network share weights between tower networks.
    tower_1 = embedding_network(input_1)
    tower_2 = embedding_network(input_2)
    merge_layer = euclidean_distance([tower_1, tower_2])
    normal_layer = keras.layers.BatchNormalization()(merge_layer)
    output_layer = keras.layers.Dense(1, activation="sigmoid")(normal_layer)
    siamese = keras.Model(inputs=[input_1, input_2], outputs=output_layer)
    initialize(siamese, 820)

    siamese.compile(
        loss=loss(margin=1), optimizer=keras.optimizers.SGD(0.01), metrics=["accuracy"]
    )
    pairs = positive((2, 32, 28, 28, 1), 821)
    y = labels(32, 2, 822).astype("float32")
    result = siamese.fit(
        [pairs[0], pairs[1]],
        y,
        validation_data=([pairs[0, :8], pairs[1, :8]], y[:8]),
        batch_size=8,
        epochs=2,
        shuffle=False,
        verbose=0,
    )
    return {
        "history": history(result),
        "names": [layer.name.rsplit("_", 1)[0] for layer in siamese.layers],
        "predictions": tensor(siamese.predict([pairs[0, :3], pairs[1, :3]], verbose=0)),
    }


def fgsm_classifier():
    inputs = keras.Input(shape=(8, 8, 1))
    x = layers.Conv2D(4, 3, activation="relu")(inputs)
    x = layers.Flatten()(x)
    outputs = layers.Dense(3, activation="softmax")(x)
    model = keras.Model(inputs, outputs)
    initialize(model, 830)
    return model


def fgsm():
    model = fgsm_classifier()
    model.trainable = False
    loss_object = keras.losses.CategoricalCrossentropy()

    def create_adversarial_pattern(input_image, input_label):
        with tf.GradientTape() as tape:
            tape.watch(input_image)
            prediction = model(input_image)
            loss = loss_object(input_label, prediction)
        # Get the gradients of the loss w.r.t to the input image.
        gradient = tape.gradient(loss, input_image)
        # Get the sign of the gradients to create the perturbation
        return gradient, ops.sign(gradient)

    image = ops.convert_to_tensor(positive((1, 8, 8, 1), 831))
    label = ops.one_hot(ops.convert_to_tensor([1]), 3)
    gradient, perturbations = create_adversarial_pattern(image, label)
    confidences = []
    for epsilon in [0, 0.01, 0.1, 0.15]:
        adversarial = ops.clip(image + epsilon * perturbations, 0, 1)
        confidences.append(number(model(adversarial)[0, 1]))

    # The same for a batch with a variable as the image, as in style transfer.
    variable = tf.Variable(positive((1, 8, 8, 1), 832))
    optimizer = keras.optimizers.SGD(0.5)
    losses = []
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = ops.mean(ops.square(model(variable) - label))
        grads = tape.gradient(loss, variable)
        optimizer.apply([grads], [variable])
        losses.append(number(loss))
    return {
        "gradient": tensor(gradient),
        "perturbations": tensor(perturbations),
        "confidences": confidences,
        "losses": losses,
    }


def integrated_gradients():
    model = fgsm_classifier()
    image = positive((8, 8, 1), 833)
    baseline = np.zeros((8, 8, 1), dtype="float32")
    steps = 20
    alphas = (np.arange(steps + 1) / steps).astype("float32")
    interpolated = ops.convert_to_tensor(
        baseline[None] + alphas[:, None, None, None] * (image - baseline)[None]
    )
    with tf.GradientTape() as tape:
        tape.watch(interpolated)
        target = model(interpolated)[:, 2]
    grads = tape.gradient(target, interpolated)
    # Riemann sum with the trapezoidal rule
    averages = ops.mean((grads[:-1] + grads[1:]) / 2.0, axis=0)
    attributions = (image - baseline) * averages
    return {
        "attributions": tensor(attributions),
        "sum": number(ops.sum(attributions)),
        "difference": number(target[-1] - target[0]),
    }


CASES = [mnist_convnet, autoencoder_example, siamese_contrastive, fgsm, integrated_gradients]
