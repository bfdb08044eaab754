# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""The program of docs/python.md."""

# [snippet: train]
import takt

with takt.Session("first", params={"rate": 1e-4}):
    loss = 1.0
    while loss > 0.001:
        with takt.Batch as batch:  # a step
            with takt.Forward as phase:
                for _ in range(10_000): loss *= 1 - 1e-6  # in place of a network
                phase.lap("Backward")
                for _ in range(20_000): loss *= 1 - 5e-7
            batch.items(32)
            takt.metric("loss", loss)
# [end]
