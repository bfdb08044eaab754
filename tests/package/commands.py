# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Commands that the tests of packages run."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*command, **more):
    """Returns the output of a command, which has to succeed within 15 minutes."""
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=900, **more)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def header_version():
    text = (ROOT / "include/takt/config.hpp").read_text(encoding="utf-8")
    return ".".join(re.findall(r"#define TAKT_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))
