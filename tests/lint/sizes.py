# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the lengths of the libraries' files and lines. A line that is too long is an error; a file that is too long is
a warning.

`sizes.py <root> --figures` also prints the median, the 95th percentile and the maximum, of files and functions."""

import functions
import statistics
import sys
import tree

DIRS = ("include", "src", "backends", "exporters")
LINES_OF_A_FILE = 600  # for longer files, check that the file has one subject
CHARACTERS_OF_A_LINE = 120


def problems_of(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > CHARACTERS_OF_A_LINE:
            yield f"{path}:{number}: {len(line)} characters; {CHARACTERS_OF_A_LINE} are the most"


def figures(what, lengths):
    lengths = sorted(lengths)
    high = lengths[min(len(lengths) - 1, len(lengths) * 95 // 100)]
    print(f"{len(lengths)} {what}: median {statistics.median_low(lengths)}, 95 % up to {high}, longest {lengths[-1]} lines")


def main():
    problems = []
    of_files, of_functions = [], []
    for path, text in tree.files((*tree.CODE, *tree.PAGES, ".txt"), DIRS):
        lines = len(text.splitlines())
        if lines > LINES_OF_A_FILE:
            print(f"warning: {path} has {lines} lines")
        problems += problems_of(path, text)
        of_files.append(lines)
        of_functions += [function.lines for function in (functions.of(text) if path.endswith(tree.CODE) else [])]
    print(f"{len(of_files)} files, {len(of_functions)} functions")
    if "--figures" in sys.argv[2:]:
        figures("files", of_files)
        figures("functions", of_functions)
    tree.finish(problems)


main()
