# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Times Keras's fit(): model.fit(..., callbacks=[takt.keras.Callback(items=batch_size)])."""

import keras

from . import _takt


class Callback(keras.callbacks.Callback):
    """Epoch, Batch and Validation, and at the end of each epoch the numbers that Keras logs, as metrics. Keras tells
    neither what is inside a batch nor the wait for data between batches."""

    def __init__(self, items=0):
        """items: samples of each batch; 0: unknown, or different."""
        super().__init__()
        self._items = items
        self._epoch, self._batch, self._validation = map(_takt.region, ("Epoch", "Batch", "Validation"))

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch.begin()

    def on_epoch_end(self, epoch, logs=None):
        for name, value in (logs or {}).items():
            _takt.metric(name, float(value))
        self._epoch.end()

    def on_train_batch_begin(self, batch, logs=None):
        self._batch.begin()

    def on_train_batch_end(self, batch, logs=None):
        if self._items:
            self._batch.items(self._items)
        self._batch.end()

    def on_test_begin(self, logs=None):
        self._validation.begin()

    def on_test_end(self, logs=None):
        self._validation.end()
