# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Lightning's fit() with takt.lightning.Callback and takt.torch.watch()."""

import tempfile
import unittest

import lightning
import run
import takt
import takt.lightning
import takt.torch
import torch


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)

    def forward(self, x):
        return self.layer(x)

    def training_step(self, batch, _):
        loss = self(batch[0]).square().mean()
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, _):
        self(batch[0])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Fit(run.Case):
    def fit(self, callback):
        loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(32, 3)), batch_size=8)
        model = Model()
        before = {each["path"]: each["host"]["n"] for each in takt.snapshot()["paths"]}
        with tempfile.TemporaryDirectory() as directory:
            trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
                                        enable_progress_bar=False, default_root_dir=directory, callbacks=[callback],
                                        num_sanity_val_steps=0)
            with takt.torch.watch(model, backward_modules=True):
                trainer.fit(model, loader, loader)
        found = takt.snapshot()
        new = {each["path"]: each["host"]["n"] - before.get(each["path"], 0) for each in found["paths"]}
        return {path: n for path, n in new.items() if n}, found

    def test_epochs_batches_and_validation(self):
        with self.session("lightning") as session:
            new, found = self.fit(takt.lightning.Callback(items=lambda batch: len(batch[0]), backward=False))
        self.assertEqual((new["Epoch"], new["Epoch/Batch"], new["Epoch/Batch/Backward"], new["Epoch/Batch/Backward/layer"]), (2, 8, 8, 8))
        self.assertEqual(sum(n for path, n in new.items() if path.endswith("Validation")), 2)
        self.assertEqual(next(each["items"] for each in found["paths"] if each["path"] == "Epoch/Batch"), 64)
        self.assertIn("loss", self.summary(session)["epochs"][0]["metrics"])

    def test_its_own_backward(self):
        new, _ = self.fit(takt.lightning.Callback())
        self.assertEqual(new["Epoch/Batch/Backward"], 8)


if __name__ == "__main__":
    unittest.main(verbosity=2)
