# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""The run of tests/c/same.cpp."""

import takt

attention = takt.region("attention", kind="compute")
loss_copy = takt.region("loss copy", kind="wait", every=2)

with takt.Session("same", warmup=1, params={"layers": 3, "rate": 0.1, "optimizer": "sgd"}, tags={"data": "none"}) as session:
    session.unit("tokens")
    session.group("stage", 2)
    takt.name_thread("trainer")
    for epoch in range(2):
        with takt.Epoch:
            takt.step(100 * epoch)
            for step in range(3):
                with takt.Batch as batch:
                    with takt.IO as io:
                        io.bytes(4096)
                    with takt.Forward, attention:
                        pass
                    with takt.Backward as phase:
                        phase.lap(takt.Optimizer)
                    with loss_copy:
                        pass
                    takt.record("Comm", 1e-6)
                    batch.items(32)
                    takt.metric("loss", 1 / (step + 1))
            takt.set_enabled(False)
            with takt.Validation:
                pass
            takt.set_enabled(True)
    takt.metric("accuracy", 0.5, 7)
