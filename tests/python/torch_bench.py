# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Cost of takt.torch.watch() in a training step of about 5 ms and five modules, beside hooks that do nothing: the median
difference to the steps of an equal model without hooks, by turns, and its 95 % interval."""

import copy
import random
import statistics
import time

import takt.torch
import torch

ORIGINAL = torch.autograd.backward


class Loop:
    """Training of a model that is changed by `how`, which returns True if it is watched."""

    def __init__(self, model, how):
        self.model = copy.deepcopy(model)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        # Watching one model replaces it for all.
        self.backward = takt.torch._timed if how(self.model, self.optimizer) else ORIGINAL
        self.watching = takt.torch._watching[-1:]

    def seconds(self, x, y):
        """Returns the duration of the third step of three: the first ones find caches with another model's data."""
        torch.autograd.backward, takt.torch._watching = self.backward, self.watching
        for _ in range(3):
            begin = time.perf_counter()
            loss = torch.nn.functional.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            taken = time.perf_counter() - begin
        return taken


def empty_hooks(model, _):
    for module in (model, *model.children()):
        module.register_forward_pre_hook(lambda *_: None)
        module.register_forward_hook(lambda *_: None)


def main():
    torch.set_num_threads(1)
    blocks = [torch.nn.Sequential(torch.nn.Linear(128, 128), torch.nn.ReLU()) for _ in range(4)]
    model = torch.nn.Sequential(*blocks, torch.nn.Linear(128, 10))
    how = {"not watched": lambda *_: False, "empty hooks": empty_hooks,
           "watched": lambda *its: bool(takt.torch.watch(*its)),
           "watched, depth=0": lambda *its: bool(takt.torch.watch(*its, depth=0)),
           "with backward_modules": lambda *its: bool(takt.torch.watch(*its, backward_modules=True))}
    loops = {name: Loop(model, each) for name, each in how.items()}
    x, y = torch.randn(16, 128), torch.randint(10, (16,))
    while statistics.median(loops["not watched"].seconds(x, y) for _ in range(20)) < 4.8e-3:
        x = torch.randn(len(x) * 5 // 4, 128)
        y = torch.randint(10, (len(x),))
    turns = []
    for _ in range(2000):
        turns.append({name: loops[name].seconds(x, y) for name in random.sample(list(loops), len(loops))})
    plain = statistics.median(each["not watched"] for each in turns)
    print(f"PyTorch {torch.__version__}, batches of {len(x)}")
    for name in how:
        # The interval of the median by ranks: David and Nagaraja, Order Statistics, section 7.1.
        more = sorted(each[name] - each["not watched"] for each in turns)
        half = 0.98 * len(more) ** 0.5
        low, middle, high = (more[round(len(more) / 2 + at)] for at in (-half, 0, half))
        print(f"{name:22} {(plain + middle) * 1e3:5.2f} ms a step  {middle * 1e6:+5.0f} us ({low * 1e6:+.0f} to "
              f"{high * 1e6:+.0f})  {middle / plain:+.1%}")


main()
