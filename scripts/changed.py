# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Reads the names of changed files and prints the labels of the tests to run, as one regular expression for ctest -L.

A change in a directory of the sources affects that directory, the directories that may include it, and the unit,
conformance and fuzz tests that include a header of one of these. A change affects all tests if it is in code that
records or runs in every process, or if its effect is unknown. Only then do whole programs (tests/integration) run."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/lint"))
from modules import ROOMS  # noqa: E402

ALL = "."
# Everything depends on these: they record, or run in the program's process.
CORE = {"base", "record", "collect", "process", "journal", "session"}
# Neither compiled nor run by tests with labels other than `lint`.
TEXTS = re.compile(r"(?:docs|packaging)/|[^/]*\.md$|LICENSE$|\.git|\.clang-format$|\.clang-tidy$")
INCLUDE = re.compile(r'^#include "(\w+)/|^#include <takt/(?:exporters/)?(\w+)', re.MULTILINE)
# Public headers whose sources are in a directory with another name.
PUBLIC = {name: "report" for name in ("console", "json", "csv", "trace", "memory", "slack")} | {
    "measure": "measure", "measurement": "measure", "trials": "trials", "nvtx": "profilers", "roctx": "profilers"}
SESSION = {"session", "takt", "scope", "snapshot"}


def dependents(directory):
    """Returns the directory and all that may include it, directly or not."""
    found = {directory}
    while True:
        more = {each for each, used in ROOMS.items() if used & found} - found
        if not more:
            return found
        found |= more


def used_by_tests():
    """Returns the source directories whose headers the tests of each directory include."""
    used = {}
    for directory in [*(ROOT / "tests/unit").iterdir(), ROOT / "tests/conformance", ROOT / "tests/fuzz"]:
        names = set()
        for path in directory.glob("*.[ch]pp"):
            for private, public in INCLUDE.findall(path.read_text(encoding="utf-8")):
                names.add("session" if public in SESSION else private or PUBLIC.get(public, public))
        used[directory.name] = names
    return used


def concerned(path, used):
    """Returns the directories whose tests a change of this file affects; None: all."""
    source = re.match(r"(?:exporters/)?src/(\w+)/", path)
    if source and source[1] in ROOMS and source[1] not in CORE:
        directories = dependents(source[1])
        return directories | {each for each, names in used.items() if names & directories}
    test = re.match(r"tests/unit/(\w+)/", path)
    if test:
        return {test[1]}
    return set() if TEXTS.match(path) else None


def labels(paths):
    used = used_by_tests()
    directories = set()
    for path in paths:
        some = concerned(path, used)
        if some is None:
            return ALL
        directories |= some
    return "|".join(["^lint$", *(f"^directory.{each}$" for each in sorted(directories))])


if __name__ == "__main__":
    print(labels(sys.stdin.read().split()))
