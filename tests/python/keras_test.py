# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Keras's fit() with takt.keras.Callback."""

import os
import unittest

os.environ["KERAS_BACKEND"] = "jax"

import keras  # noqa: E402
import numpy  # noqa: E402
import run  # noqa: E402
import takt  # noqa: E402
import takt.keras  # noqa: E402


class Fit(run.Case):
    def test_epochs_batches_validation_and_metrics(self):
        model = keras.Sequential([keras.layers.Dense(4, activation="relu"), keras.layers.Dense(1)])
        model.compile(optimizer="sgd", loss="mse")
        x = numpy.random.default_rng(0).normal(size=(64, 3))
        with self.session("keras") as session:
            model.fit(x, x[:, :1], batch_size=16, epochs=3, validation_data=(x, x[:, :1]), verbose=0,
                      callbacks=[takt.keras.Callback(items=16)])
            found = takt.snapshot()
        self.assertEqual({each["path"]: each["host"]["n"] for each in found["paths"]},
                         {"Epoch": 3, "Epoch/Batch": 12, "Epoch/Validation": 3})
        self.assertEqual(next(each["items"] for each in found["paths"] if each["path"] == "Epoch/Batch"), 12 * 16)
        self.assertEqual([sorted(each["metrics"]) for each in self.summary(session)["epochs"]], 3 * [["loss", "val_loss"]])


if __name__ == "__main__":
    unittest.main(verbosity=2)
