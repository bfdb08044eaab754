# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Installs packages from PyPI into a build directory, once. The test is skipped if PyPI is unreachable."""

import os
import subprocess
import sys

SKIPPED = 77
UNREACHABLE = ("connection", "timed out", "name resolution", "no matching distribution", "proxyerror", "unreachable", "sslerror")


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def run_pip(python, what, *arguments):
    done = run(python, "-m", "pip", *arguments)
    if done.returncode == 0:
        return
    print(done.stdout[-4000:])
    if any(words in done.stdout.lower() for words in UNREACHABLE):
        print(f"skipped: {what} cannot be fetched from here")
        sys.exit(SKIPPED)
    sys.exit("pip failed")


def install(python, what, *arguments):
    """Installs with uv, which takes a tenth of the time, or with pip, which supports more settings, if uv is missing or
    fails."""
    uv = (python, "-m", "uv", "pip", "install", "--python", python)
    if run(python, "-m", "pip", "install", "uv").returncode != 0 or run(*uv, *arguments).returncode != 0:
        run_pip(python, what, "install", "--quiet", "--no-compile", *arguments)


def fetch(what, packages, directory):
    """Creates a virtual environment with `packages`, again if an earlier build had others. Returns its Python."""
    python = str(directory / "bin" / "python")
    ready, listed = directory / "takt-ready", "\n".join(packages)
    if not ready.exists() or ready.read_text(encoding="utf-8") != listed:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(directory)], check=True)
        install(python, what, *packages)
        ready.write_text(listed, encoding="utf-8")
    return python


def become(python, directory, *command):
    """Replaces this process with fetch()'s `python`. The bytecode of its imports, which is small, is cached, but not in
    the source directories of the tests."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(directory / "bytecode")
    os.execv(python, [python, *command])
