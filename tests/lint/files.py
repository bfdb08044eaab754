# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""What every file has to have or must not have: licence lines, no sleeping tests, no file left out of the build."""

import re
import tree

SPDX = ("SPDX-FileCopyrightText: The Takt authors", "SPDX-License-Identifier: BSD-3-Clause")
SLEEP = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep)\b|(?<!\w)time\.sleep\b")
# A test case with its name, which may go on behind a line's end.
TEST_CASE = re.compile(r'\bTEST_CASE(?:_METHOD)?\((?:\s*[\w:<>]+,)?\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')


def licence_problems():
    for path, text in tree.files((*tree.CODE, *tree.DEVICE, *tree.PAGES, ".py", ".sh", ".cmake", ".txt")):
        if path.endswith(".txt") and not path.endswith("CMakeLists.txt"):
            continue
        head = text.splitlines()[:4]
        if not all(any(line.removesuffix(" -->").removesuffix(" */").endswith(words) for line in head) for words in SPDX):
            yield f"{path}: does not begin with the two SPDX lines"


def header_problems():
    for path, text in tree.files((".hpp",)):
        if "\n#pragma once\n" not in text and not path.startswith("include/takt/detail/macros_"):
            yield f"{path}: no #pragma once"


def sleep_problems():
    """A test that sleeps is slow on a good day and fails on a bad one: advance a ManualBackend, or wait for a condition."""
    for path, text in tree.files((*tree.CODE, *tree.DEVICE, ".py", ".sh"), ("tests",)):
        for number, line in enumerate(text.splitlines(), 1):
            if SLEEP.search(line) and not path.startswith("tests/lint/"):
                yield f"{path}:{number}: a test must not sleep"


def name_problems():
    """CMake takes a test case whose name has a semicolon for two, and neither half for one that is there."""
    for path, text in tree.files((".cpp",), ("tests",)):
        for case in TEST_CASE.finditer(text):
            if ";" in case[1]:
                yield f"{path}: a semicolon in {case[1].strip()}; ctest would never run it"


def list_problems():
    """Sources and tests are listed by hand; one that is not in its list would silently not be built."""
    for path, _ in tree.files((".cpp", *tree.DEVICE), ("src", "backends", "exporters", "examples", "tests")):
        full = tree.root() / path
        listing = next(parent / "CMakeLists.txt" for parent in full.parents if (parent / "CMakeLists.txt").is_file())
        if not re.search(rf"\b{re.escape(full.stem)}\b", listing.read_text(encoding="utf-8")):
            yield f"{path}: not named in {listing.relative_to(tree.root())}"


def main():
    tree.finish([*licence_problems(), *header_problems(), *sleep_problems(), *name_problems(), *list_problems()])


main()
