# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Installs one version of MLflow into a build directory, once, and runs tests with it. Exits with 77 if it cannot be
installed.

with_server.py <version> <directory> <test> <program>"""

import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))

import fetch  # noqa: E402

# MLflow measures system metrics with nvidia-ml-py and psutil if they are installed. MLflow 2.2.2 needs pkg_resources,
# removed in setuptools 81, and FallbackAsyncAdaptedQueuePool, removed in SQLAlchemy 2.1.
PACKAGES = {"2.2.2": ["mlflow==2.2.2", "setuptools<80", "sqlalchemy<2.1"], "3": ["mlflow[auth]>=3,<4", "nvidia-ml-py", "psutil"]}
# The packages that the login of Mantik's client imports and MLflow lacks; all dependencies would be ten times as large.
MANTIK = ["--no-deps", "mantik==0.5.11"]
MANTIK_NEEDS = ["fs", "gputil", "ipython==8.18.1", "psutil", "python-jose", "setuptools<80"]


def fetch_mantik(python, directory):
    """Installs it separately from MLflow, whose tests use MLflow's own dependencies."""
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
