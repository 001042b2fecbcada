# SPDX-License-Identifier: Apache-2.0
"""Guide: writing your own callbacks."""

import keras
import numpy as np
from guide import history, initialize, labels, values


def get_model():
    model = keras.Sequential()
    model.add(keras.Input((20,)))
    model.add(keras.layers.Dense(1))
    initialize(model, 500)
    model.compile(
        optimizer=keras.optimizers.RMSprop(learning_rate=0.1),
        loss="mean_squared_error",
        metrics=["mean_absolute_error"],
    )
    return model


def data():
    return values((64, 20), 501), labels(64, 10, 502).astype("float32").reshape(64, 1)


class CustomCallback(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.calls = []

    def note(self, what, logs):
        self.calls.append(what + "; got log keys: " + " ".join(logs.keys()))

    def on_train_begin(self, logs=None):
        self.note("Starting training", logs)

    def on_train_end(self, logs=None):
        self.note("Stop training", logs)

    def on_epoch_begin(self, epoch, logs=None):
        self.note(f"Start epoch {epoch} of training", logs)

    def on_epoch_end(self, epoch, logs=None):
        self.note(f"End epoch {epoch} of training", logs)

    def on_test_begin(self, logs=None):
        self.note("Start testing", logs)

    def on_test_end(self, logs=None):
        self.note("Stop testing", logs)

    def on_predict_begin(self, logs=None):
        self.note("Start predicting", logs)

    def on_predict_end(self, logs=None):
        self.note("Stop predicting", logs)

    def on_train_batch_begin(self, batch, logs=None):
        self.note(f"...Training: start of batch {batch}", logs)

    def on_train_batch_end(self, batch, logs=None):
        self.note(f"...Training: end of batch {batch}", logs)

    def on_test_batch_begin(self, batch, logs=None):
        self.note(f"...Evaluating: start of batch {batch}", logs)

    def on_test_batch_end(self, batch, logs=None):
        self.note(f"...Evaluating: end of batch {batch}", logs)

    def on_predict_batch_begin(self, batch, logs=None):
        self.note(f"...Predicting: start of batch {batch}", logs)

    def on_predict_batch_end(self, batch, logs=None):
        keys = sorted(logs.keys() - {"outputs"})  # passed only by Python's predict
        self.note(f"...Predicting: end of batch {batch}", dict.fromkeys(keys))


def callbacks_calls():
    x_train, y_train = data()
    model = get_model()
    callback = CustomCallback()
    model.fit(
        x_train,
        y_train,
        batch_size=16,
        epochs=1,
        verbose=0,
        validation_split=0.5,
        shuffle=False,
        callbacks=[callback],
    )
    model.evaluate(x_train, y_train, batch_size=32, verbose=0, callbacks=[callback])
    model.predict(x_train, batch_size=32, verbose=0, callbacks=[callback])
    return {"calls": callback.calls}


UP_TO = "Up to batch {}, the average loss is {:7.2f}."


class LossAndErrorPrintingCallback(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.lines = []

    def on_train_batch_end(self, batch, logs=None):
        self.lines.append(UP_TO.format(batch, logs["loss"]))

    def on_test_batch_end(self, batch, logs=None):
        self.lines.append(UP_TO.format(batch, logs["loss"]))

    def on_epoch_end(self, epoch, logs=None):
        self.lines.append(
            "The average loss for epoch {} is {:7.2f} and mean absolute error is {:7.2f}.".format(
                epoch, logs["loss"], logs["mean_absolute_error"]
            )
        )


def callbacks_lines():
    x_train, y_train = data()
    model = get_model()
    callback = LossAndErrorPrintingCallback()
    model.fit(
        x_train, y_train, batch_size=16, epochs=2, shuffle=False, verbose=0, callbacks=[callback]
    )
    model.evaluate(x_train, y_train, batch_size=32, verbose=0, callbacks=[callback])
    return {"lines": callback.lines}


class EarlyStoppingAtMinLoss(keras.callbacks.Callback):
    """Stop training when the loss is at its min, i.e. the loss stops decreasing."""

    def __init__(self, patience=0):
        super().__init__()
        self.patience = patience
        # best_weights to store the weights at which the minimum loss occurs.
        self.best_weights = None

    def on_train_begin(self, logs=None):
        # The number of epoch it has waited when loss is no longer minimum.
        self.wait = 0
        # The epoch the training stops at.
        self.stopped_epoch = 0
        # Initialize the best as infinity.
        self.best = np.inf

    def on_epoch_end(self, epoch, logs=None):
        current = logs.get("loss")
        if np.less(current, self.best):
            self.best = current
            self.wait = 0
            # Record the best weights if current results is better (less).
            self.best_weights = self.model.get_weights()
        else:
            self.wait += 1
            if self.wait >= self.patience:
                self.stopped_epoch = epoch
                self.model.stop_training = True
                self.model.set_weights(self.best_weights)


def callbacks_early_stopping():
    x_train, y_train = data()
    model = get_model()
    callback = EarlyStoppingAtMinLoss()
    result = model.fit(
        x_train,
        y_train,
        batch_size=64,
        epochs=60,
        shuffle=False,
        verbose=0,
        callbacks=[callback],
    )
    return {"stopped_epoch": callback.stopped_epoch, "epochs": len(result.epoch)}


class CustomLearningRateScheduler(keras.callbacks.Callback):
    """Learning rate scheduler which sets the learning rate according to schedule."""

    def __init__(self, schedule):
        super().__init__()
        self.schedule = schedule

    def on_epoch_begin(self, epoch, logs=None):
        # Get the current learning rate from model's optimizer.
        lr = float(keras.ops.convert_to_numpy(self.model.optimizer.learning_rate))
        # Call schedule function to get the scheduled learning rate.
        scheduled_lr = self.schedule(epoch, lr)
        # Set the value back to the optimizer before this epoch starts
        self.model.optimizer.learning_rate = scheduled_lr


LR_SCHEDULE = [
    # (epoch to start, learning rate) tuples
    (3, 0.05),
    (6, 0.01),
    (9, 0.005),
    (12, 0.001),
]


def lr_schedule(epoch, lr):
    """Helper function to retrieve the scheduled learning rate based on epoch."""
    if epoch < LR_SCHEDULE[0][0] or epoch > LR_SCHEDULE[-1][0]:
        return lr
    for i in range(len(LR_SCHEDULE)):
        if epoch == LR_SCHEDULE[i][0]:
            return LR_SCHEDULE[i][1]
    return lr


def callbacks_scheduler():
    x_train, y_train = data()
    model = get_model()
    result = model.fit(
        x_train,
        y_train,
        batch_size=64,
        epochs=15,
        shuffle=False,
        verbose=0,
        callbacks=[CustomLearningRateScheduler(lr_schedule)],
    )
    rate = np.float32(keras.ops.convert_to_numpy(model.optimizer.learning_rate))
    return {"history": history(result), "rate": rate}


CASES = [callbacks_calls, callbacks_lines, callbacks_early_stopping, callbacks_scheduler]
