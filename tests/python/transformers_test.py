# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Hugging Face's Trainer with takt.transformers.Callback and takt.torch.watch()."""

import tempfile
import unittest

import run
import takt
import takt.torch
import takt.transformers
import torch
from transformers import Trainer, TrainingArguments


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)

    def forward(self, x):
        return {"loss": self.layer(x).square().mean()}


class Train(run.Case):
    def test_epochs_updates_and_metrics(self):
        data = [{"x": torch.randn(3)} for _ in range(32)]
        model = Model()
        with tempfile.TemporaryDirectory() as directory, self.session("hf") as session:
            arguments = TrainingArguments(directory, num_train_epochs=2, per_device_train_batch_size=4, gradient_accumulation_steps=2,
                                          logging_steps=1, report_to=[], save_strategy="no", use_cpu=True, disable_tqdm=True)
            trainer = Trainer(model, arguments, train_dataset=data, callbacks=[takt.transformers.Callback(items=8)])
            with takt.torch.watch(model):
                trainer.train()
            found = takt.snapshot()
        counts = {each["path"]: each["host"]["n"] for each in found["paths"]}
        self.assertEqual((counts["Epoch"], counts["Epoch/Batch"]), (2, 8))
        self.assertGreaterEqual(counts["Epoch/Batch/Forward"], 8)
        self.assertEqual(next(each["items"] for each in found["paths"] if each["path"] == "Epoch/Batch"), 64)
        self.assertIn("loss", self.summary(session)["epochs"][0]["metrics"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
