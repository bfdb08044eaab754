# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Code for a type checker, which reads it only."""

import takt
from takt.torch import Watch  # noqa: F401


@takt.region
def plain(a: int) -> str:
    return str(a)


@takt.region("named", kind="io")
def named(a: int, *, b: float = 0) -> float:
    return a + b


@takt.region
async def coroutine() -> int:
    return 1


text: str = plain(1)
number: float = named(2, b=1.0)

with takt.Session("s", trackers=["wandb"], params={"a": 1}, warmup=0) as session:
    for batch in takt.trials(session, [1, 2], io=True):
        value: int = batch
        with takt.Batch as step, takt.region("x", every=2):
            step.items(1)
            step.lap("y")
        takt.metric("loss", 0.5, 3)
    median: object = takt.measure(session, "f", lambda: None)["host"]
    with takt.span("s", kind="wait"):
        pass
    closed: bool = session.close()
