# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""The table of the sources' directories."""

# The modules of the sources, each with those that it may include besides itself. Any other include has the wrong
# direction: docs/design.md says what each module is for.
ROOMS = {
    "base": set(),
    "record": {"base"},
    "process": {"base", "record"},
    "journal": {"base"},
    "sample": {"base"},
    "findings": {"base"},
    "ranks": {"base", "findings"},
    "measure": {"base", "record"},
    "report": {"base", "findings", "ranks", "measure"},
    "page": {"base", "findings", "ranks", "report"},
    "session": {"base", "record", "process", "journal", "sample", "findings", "ranks", "measure", "report", "page"},
    "trackers": {"base", "journal"},
    "mlflow": {"base", "journal", "report", "trackers"},
    "wandb": {"base", "journal", "report", "trackers"},
    "prometheus": {"base", "trackers"},
    "tensorboard": {"base", "journal", "report", "trackers"},
    "profilers": {"base"},
    "cli": {"base", "journal", "findings", "ranks", "measure", "report", "page", "trackers", "mlflow", "wandb", "tensorboard"},
}
