# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks every file for license lines, for sleeps in tests, and that the build lists it."""

import re
import tree

SPDX = ("SPDX-FileCopyrightText: The Takt authors", "SPDX-License-Identifier: BSD-3-Clause")
SLEEP = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep)\b|(?<!\w)time\.sleep\b")
# A test case with its name, which may span lines.
TEST_CASE = re.compile(r'\bTEST_CASE(?:_METHOD)?\((?:\s*[\w:<>]+,)?\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')


def licence_problems():
    for path, text in tree.files((*tree.CODE, *tree.DEVICE, *tree.PAGES, ".py", ".sh", ".cmake", ".txt", ".h", ".c", ".f90")):
        if path.endswith(".txt") and not path.endswith("CMakeLists.txt"):
            continue
        head = text.splitlines()[:4]
        if not all(any(line.removesuffix(" -->").removesuffix(" */").endswith(words) for line in head) for words in SPDX):
            yield f"{path}: does not begin with the two SPDX lines"


def header_problems():
    for path, text in tree.files((".hpp",)):
        if "\n#pragma once\n" not in text and path != "tests/support/catch.hpp":  # precompiled: says why
            yield f"{path}: no #pragma once"


def sleep_problems():
    """Reports sleeps: a sleeping test is slow at best and fails at worst. Advance a ManualBackend or wait for a
    condition."""
    for path, text in tree.files((*tree.CODE, *tree.DEVICE, ".py", ".sh"), ("tests",)):
        for number, line in enumerate(text.splitlines(), 1):
            if SLEEP.search(line) and not path.startswith("tests/lint/"):
                yield f"{path}:{number}: a test must not sleep"


def name_problems():
    """Reports semicolons in test names: CMake would split the name into two unknown ones."""
    for path, text in tree.files((".cpp",), ("tests",)):
        for case in TEST_CASE.finditer(text):
            if ";" in case[1]:
                yield f"{path}: a semicolon in {case[1].strip()}; ctest would never run it"


def list_problems():
    """Reports files that no list contains. Sources and tests are listed by hand, so a missing file would silently not
    be built."""
    for path, _ in tree.files((".cpp", ".c", ".f90", *tree.DEVICE), ("src", "backends", "exporters", "examples", "tests")):
        full = tree.root() / path
        listing = next(parent / "CMakeLists.txt" for parent in full.parents if (parent / "CMakeLists.txt").is_file())
        if not re.search(rf"\b{re.escape(full.stem)}\b", listing.read_text(encoding="utf-8")):
            yield f"{path}: not named in {listing.relative_to(tree.root())}"


def main():
    tree.finish([*licence_problems(), *header_problems(), *sleep_problems(), *name_problems(), *list_problems()])


main()
