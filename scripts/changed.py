# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Reads the names of changed files, and prints the labels of the tests to run, as one regular expression for ctest -L.

A change in a directory of the sources concerns the tests of that directory and of those that may include it. A change in what records, or
in anything that is not known to concern fewer tests, concerns all."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/lint"))
from rooms import ROOMS  # noqa: E402

ALL = "."
# Everything depends on these: they record, or run in the process of the program.
CORE = {"base", "record", "collect", "process", "journal"}
# Neither compiled nor run by tests with other labels than `lint`.
TEXTS = re.compile(r"docs/|[^/]*\.md$|LICENSE$|\.git|\.clang-format$|\.clang-tidy$")


def dependents(directory):
    """The directory and all that may include it, directly or not."""
    found = {directory}
    while True:
        more = {each for each, used in ROOMS.items() if used & found} - found
        if not more:
            return found
        found |= more


def concerned(path):
    """The directories whose tests a change of this file concerns; None: all."""
    source = re.match(r"(?:exporters/)?src/(\w+)/", path)
    if source and source[1] in ROOMS and source[1] not in CORE:
        return dependents(source[1])
    test = re.match(r"tests/unit/(\w+)/", path)
    if test:
        return {test[1]}
    return set() if TEXTS.match(path) else None


def labels(paths):
    directories = set()
    for path in paths:
        some = concerned(path)
        if some is None:
            return ALL
        directories |= some
    return "|".join(["^lint$", *(f"^directory.{each}$" for each in sorted(directories))])


if __name__ == "__main__":
    print(labels(sys.stdin.read().split()))
