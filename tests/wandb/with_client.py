# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Installs W&B's client into a build directory, once, and runs the tests with it. Exits with 77 if it cannot be
installed.

with_client.py <directory> <test> <program>"""

import os
import pathlib
import sys
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))

import fetch  # noqa: E402

CLIENT = "wandb>=0.31,<1"
# An older version with a Python reader of logs, which returns each record. It also proves that older versions can read
# the log.
READER = "wandb==0.28.0"


def fetch_reader(python, directory):
    reader = directory / "datastore.py"
    if not reader.exists():
        fetch.run_pip(python, "W&B's reader", "download", "--quiet", "--no-deps", "--dest", str(directory / "wheels"), READER)
        wheel = next((directory / "wheels").glob("*.whl"))
        with zipfile.ZipFile(wheel) as files:
            reader.write_bytes(files.read("wandb/sdk/internal/datastore.py"))
        wheel.unlink()
    return reader


def main():
    directory, name = pathlib.Path(sys.argv[1]), sys.argv[2]
    python = fetch.fetch("W&B's client", [CLIENT], directory)
    os.environ["READER"] = str(fetch_reader(python, directory))
    fetch.become(python, directory, str(pathlib.Path(__file__).with_name(name)), *sys.argv[3:])


main()
