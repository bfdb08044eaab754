# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Fetches one version of MLflow into a directory of the build, once, and runs tests with it. Ends with 77 if it cannot be fetched.

with_server.py <version> <directory> <test> <program>"""

import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))

import fetch  # noqa: E402

# MLflow tells metrics of the system with nvidia-ml-py and psutil, and does without where they are not there.
# pkg_resources left setuptools in 81, FallbackAsyncAdaptedQueuePool left SQLAlchemy in 2.1; MLflow 2.2.2 wants both.
PACKAGES = {"2.2.2": ["mlflow==2.2.2", "setuptools<80", "sqlalchemy<2.1"], "3": ["mlflow[auth]>=3,<4", "nvidia-ml-py", "psutil"]}
# Of what Mantik's client needs, that which its login imports and MLflow has not brought: all of it would be ten times as much.
MANTIK = ["--no-deps", "mantik==0.5.11"]
MANTIK_NEEDS = ["fs", "gputil", "ipython==8.18.1", "psutil", "python-jose", "setuptools<80"]


def fetch_mantik(python, directory):
    """Beside MLflow and not among it: its tests are for MLflow as MLflow comes."""
    ready = directory / "takt-ready"
    if ready.exists():
        return
    shutil.rmtree(directory, ignore_errors=True)
    for packages in (MANTIK_NEEDS, MANTIK):
        fetch.install(python, "Mantik's client", "--target", str(directory), *packages)
    ready.touch()


def main():
    version, directory, test = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(__file__).with_name(sys.argv[3])
    python = fetch.fetch(f"MLflow {version}", PACKAGES[version], directory)
    if test.name == "mantik_test.py":
        client = directory.with_name("mantik")
        fetch_mantik(python, client)
        os.environ["MANTIK_CLIENT"] = str(client)
    fetch.become(python, directory, str(test), *sys.argv[4:])


main()
