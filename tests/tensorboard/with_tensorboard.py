# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Installs TensorBoard into a build directory, once, and runs the tests with it. Exits with 77 if it cannot be
installed.

with_tensorboard.py <directory> <program>"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "integration"))

import fetch  # noqa: E402


def main():
    directory = pathlib.Path(sys.argv[1])
    python = fetch.fetch("TensorBoard", ["tensorboard==2.21.0"], directory)
    fetch.become(python, directory, str(pathlib.Path(__file__).with_name("tensorboard_test.py")), *sys.argv[2:])


main()
