# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Times Lightning's fit(): Trainer(callbacks=[takt.lightning.Callback(items=batch_size)])."""

try:
    from lightning.pytorch import Callback as _Callback
except ImportError:
    from pytorch_lightning import Callback as _Callback

from . import _takt


class Callback(_Callback):
    """Epoch, Batch, Backward and Validation, and at the end of each epoch the logged numbers, as metrics: reading them in
    each step would wait for the GPU. takt.torch.watch(model) adds Forward and the modules; then pass backward=False."""

    def __init__(self, items=0, backward=True):
        """items: samples of each batch, or a function of the batch that returns them; 0: unknown."""
        self._items = items
        self._epoch, self._batch, self._validation = map(_takt.region, ("Epoch", "Batch", "Validation"))
        self._backward = _takt.region("Backward") if backward else None

    def on_train_epoch_start(self, trainer, pl_module):
        self._epoch.begin()

    def on_train_epoch_end(self, trainer, pl_module):
        for name, value in trainer.callback_metrics.items():
            _takt.metric(name, float(value))
        self._epoch.end()

    def on_train_batch_start(self, *_):
        self._batch.begin()

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, *_):
        items = self._items(batch) if callable(self._items) else self._items
        if items:
            self._batch.items(items)
        self._batch.end()

    def on_before_backward(self, *_):
        if self._backward is not None:
            self._backward.begin()

    def on_after_backward(self, *_):
        if self._backward is not None:
            self._backward.end()

    def on_validation_start(self, trainer, pl_module):
        self._validation.begin()

    def on_validation_end(self, trainer, pl_module):
        self._validation.end()
