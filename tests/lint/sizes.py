# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""How long the files of the libraries are, their functions, and their lines. None is an exception.

`sizes.py <root> --figures` also prints the median, what 95 % stay below, and the longest."""

import functions
import statistics
import sys
import tree

FOLDERS = ("include", "src", "backends", "exporters")
LINES_OF_A_FILE = 400
LINES_OF_A_FUNCTION = 40
CHARACTERS_OF_A_LINE = 120


def problems_of(path, text, found):
    lines = text.splitlines()
    if len(lines) > LINES_OF_A_FILE:
        yield f"{path}: {len(lines)} lines; {LINES_OF_A_FILE} are the most"
    for function in found:
        if function.lines > LINES_OF_A_FUNCTION:
            yield f"{path}:{function.line}: {function.name} has {function.lines} lines; {LINES_OF_A_FUNCTION} are the most"
    for number, line in enumerate(lines, 1):
        if len(line) > CHARACTERS_OF_A_LINE:
            yield f"{path}:{number}: {len(line)} characters; {CHARACTERS_OF_A_LINE} are the most"


def figures(what, lengths):
    lengths = sorted(lengths)
    high = lengths[min(len(lengths) - 1, len(lengths) * 95 // 100)]
    print(f"{len(lengths)} {what}: median {statistics.median_low(lengths)}, 95 % up to {high}, longest {lengths[-1]} lines")


def main():
    problems = []
    of_files, of_functions = [], []
    for path, text in tree.files((*tree.CODE, *tree.PAGES, ".txt"), FOLDERS):
        found = functions.of(text) if path.endswith(tree.CODE) else []
        problems += problems_of(path, text, found)
        of_files.append(len(text.splitlines()))
        of_functions += [function.lines for function in found]
    print(f"{len(of_files)} files, {len(of_functions)} functions")
    if "--figures" in sys.argv[2:]:
        figures("files", of_files)
        figures("functions", of_functions)
    tree.finish(problems)


main()
