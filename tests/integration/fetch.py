# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Brings packages from PyPI into a folder of the build, once. Where PyPI cannot be reached the test is skipped."""

import subprocess
import sys

SKIPPED = 77
UNREACHABLE = ("connection", "timed out", "name resolution", "no matching distribution", "proxyerror", "unreachable", "sslerror")


def run_pip(python, what, *arguments):
    done = subprocess.run([python, "-m", "pip", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode == 0:
        return
    print(done.stdout[-4000:])
    if any(words in done.stdout.lower() for words in UNREACHABLE):
        print(f"skipped: {what} cannot be fetched from here")
        sys.exit(SKIPPED)
    sys.exit("pip failed")


def fetch(what, packages, folder):
    """A virtual environment with `packages`; returns its Python."""
    python = str(folder / "bin" / "python")
    ready = folder / "takt-ready"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        run_pip(python, what, "install", "--quiet", *packages)
        ready.touch()
    return python
