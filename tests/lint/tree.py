# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the lints: the files of the tree, and the reporting."""

import pathlib
import sys

DIRS = ("include", "src", "backends", "exporters", "examples", "tests", "cmake", "scripts", "bindings", "packaging")
CODE = (".hpp", ".cpp")
DEVICE = (".cu", ".hip")
PAGES = (".js", ".css", ".html")


def root():
    return pathlib.Path(sys.argv[1])


def files(suffixes, directories=DIRS):
    """Returns (path from the root, text) of every file with one of these suffixes."""
    for directory in directories:
        for path in sorted((root() / directory).rglob("*")):
            if path.is_file() and path.suffix in suffixes:
                yield path.relative_to(root()).as_posix(), path.read_text(encoding="utf-8")


def finish(problems):
    for problem in problems:
        print(problem)
    sys.exit(f"{len(problems)} problem(s)" if problems else 0)
