# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Cost of takt.torch.watch() in a training step of some milliseconds and five modules, with and without it by turns."""

import statistics
import time

import takt.torch
import torch


def main():
    torch.set_num_threads(1)
    blocks = [torch.nn.Sequential(torch.nn.Linear(128, 128), torch.nn.ReLU()) for _ in range(4)]
    model = torch.nn.Sequential(*blocks, torch.nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(32, 128), torch.randint(10, (32,))

    def step():
        begin = time.perf_counter()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return time.perf_counter() - begin

    how = {"not watched": None, "watched": {}, "with backward_modules": {"backward_modules": True}}
    times = {name: [] for name in how}
    for _ in range(200):
        for name, options in how.items():
            watched = None if options is None else takt.torch.watch(model, optimizer, **options)
            times[name] += [step() for _ in range(4)][1:]
            if watched is not None:
                watched.remove()
    medians = {name: statistics.median(each) for name, each in times.items()}
    plain = medians["not watched"]
    for name, median in medians.items():
        print(f"{name:22} {median * 1e3:5.2f} ms a step  {(median - plain) * 1e6:+5.0f} us  {median / plain - 1:+.1%}")


main()
