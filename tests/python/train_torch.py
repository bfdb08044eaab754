# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""The program of docs/python.md with PyTorch."""

import takt.torch
import torch

model = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.utils.data.TensorDataset(torch.randn(6400, 64), torch.randint(10, (6400,)))
loader = torch.utils.data.DataLoader(data, batch_size=64)

# [snippet: torch]
with takt.Session("train"), takt.torch.watch(model, optimizer, loader) as batches:
    for x, y in batches:
        with takt.Batch as batch:
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            batch.items(len(x))
# [end]
