# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Fetches one version of MLflow into a folder of the build, once, and runs the tests with it. Ends with 77 if it cannot be fetched.

with_server.py <version> <folder> <program>"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))

import fetch  # noqa: E402

# pkg_resources left setuptools in 81, FallbackAsyncAdaptedQueuePool left SQLAlchemy in 2.1; MLflow 2.2.2 wants both.
PACKAGES = {"2.2.2": ["mlflow==2.2.2", "setuptools<80", "sqlalchemy<2.1"], "3": ["mlflow>=3,<4"]}


def main():
    version, folder, program = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    python = fetch.fetch(f"MLflow {version}", PACKAGES[version], folder)
    test = str(pathlib.Path(__file__).with_name("mlflow_test.py"))
    os.execv(python, [python, "-B", test, program, *sys.argv[4:]])


main()
