# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Times Hugging Face's Trainer: Trainer(..., callbacks=[takt.transformers.Callback()])."""

from transformers import TrainerCallback

from . import _takt


class Callback(TrainerCallback):
    """Epoch and Batch, which is one update of the weights with all its micro-batches, and the numbers that the Trainer
    logs as metrics. takt.torch.watch(model, optimizer) adds Forward, Backward and Optimizer."""

    def __init__(self, items=0):
        """items: samples of each update; 0: unknown, or different."""
        self._items = items
        self._epoch, self._batch = map(_takt.region, ("Epoch", "Batch"))

    def on_epoch_begin(self, *_, **__):
        self._epoch.begin()

    def on_epoch_end(self, *_, **__):
        self._epoch.end()

    def on_step_begin(self, *_, **__):
        self._batch.begin()

    def on_step_end(self, *_, **__):
        if self._items:
            self._batch.items(self._items)
        self._batch.end()

    def on_log(self, args, state, control, logs=None, **_):
        for name, value in (logs or {}).items():
            if isinstance(value, (int, float)):
                _takt.metric(name, value, state.global_step)
