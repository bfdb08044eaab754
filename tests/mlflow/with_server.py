# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Fetches one version of MLflow into a folder of the build, once, and runs the tests with it. Ends with 77 if it cannot be fetched.

with_server.py <version> <folder> <program>"""

import os
import pathlib
import subprocess
import sys

SKIPPED = 77
# pkg_resources left setuptools in 81, FallbackAsyncAdaptedQueuePool left SQLAlchemy in 2.1; MLflow 2.2.2 wants both.
PACKAGES = {"2.2.2": ["mlflow==2.2.2", "setuptools<80", "sqlalchemy<2.1"], "3": ["mlflow>=3,<4"]}
UNREACHABLE = ("connection", "timed out", "name resolution", "no matching distribution", "proxyerror", "unreachable", "sslerror")


def fetch(version, folder):
    ready = folder / "takt-ready"
    if ready.exists():
        return
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", *PACKAGES[version]]
    done = subprocess.run(pip, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout[-4000:])
        if any(words in done.stdout.lower() for words in UNREACHABLE):
            print(f"skipped: MLflow {version} cannot be fetched from here")
            sys.exit(SKIPPED)
        sys.exit("pip failed")
    ready.touch()


def main():
    version, folder, program = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    fetch(version, folder)
    python = str(folder / "bin" / "python")
    test = str(pathlib.Path(__file__).with_name("mlflow_test.py"))
    os.execv(python, [python, "-B", test, program, *sys.argv[4:]])


main()
