# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Takt shows where the time of each training step goes. docs/python.md has an introduction.

    import takt

    with takt.Session("train") as session:
        for images, labels in takt.trials(session, loader):
            with takt.Batch as batch:
                with takt.Forward:
                    loss = criterion(model(images), labels)
                batch.items(len(images))

Regions are recorded in libtakt, together with those of C++, C and Fortran code of the process. Recording never raises
an exception for what the program does; misuse is one line on stderr and is counted in the report. Any thread may call
any function.
"""

from ._session import Session, Snapshot, measure, snapshot, trials
from ._takt import Region, enabled, metric, name_thread, record, region, set_enabled, span, step

__all__ = ["Backward", "Batch", "Checkpoint", "Comm", "Epoch", "Forward", "IO", "Optimizer", "Other", "Region", "Session",
           "Snapshot", "Validation", "enabled", "measure", "metric", "name_thread", "record", "region", "set_enabled",
           "snapshot", "span", "step", "trials"]

Epoch = region("Epoch")
Batch = region("Batch")
Forward = region("Forward")
Backward = region("Backward")
Optimizer = region("Optimizer")
Validation = region("Validation")
Checkpoint = region("Checkpoint")
Comm = region("Comm")
IO = region("IO")
Other = region("Other")
