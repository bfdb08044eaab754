# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""The table of the sources' directories."""

# The rooms of the sources, each with those that it may include besides itself. An arrow that is not here is against the direction:
# docs/design.md says what each room is for.
ROOMS = {
    "base": set(),
    "record": {"base"},
    "collect": {"base", "record"},
    "process": {"base", "record", "collect"},
    "journal": {"base"},
    "sample": {"base"},
    "history": {"base"},
    "findings": {"base", "history"},
    "ranks": {"base", "history"},
    "compare": {"base"},
    "archive": {"base"},
    "measure": {"base"},
    "trials": {"base", "record"},
    "report": {"base", "history", "findings", "ranks", "measure", "trials"},
    "page": {"base", "history", "findings", "ranks", "report"},
    "session": {"base", "record", "collect", "process", "journal", "history", "findings", "measure", "trials", "report", "ranks", "page", "sample"},
    "http": {"base"},
    "trackers": {"base", "journal"},
    "mlflow": {"base", "journal", "report", "http", "trackers"},
    "wandb": {"base", "journal", "report", "http", "trackers"},
    "tensorboard": {"base", "journal", "report", "trackers"},
    "profilers": {"base"},
    "cli": {"base", "journal", "history", "findings", "ranks", "compare", "measure", "trials", "archive", "report", "page", "trackers", "mlflow", "wandb", "tensorboard"},
}
