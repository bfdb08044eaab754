# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Limits the number of preprocessed lines that including <takt/scope.hpp> costs, from the standard library and Takt
only."""

import re
import subprocess
import sys
import tree

# For files that only have regions, which are compiled often.
LINES = {"takt/scope.hpp": 4_600}
FOREIGN = re.compile(r"/(fmt|nlohmann|CLI|catch2|benchmark|curl|nvtx3)/")


def preprocess(header, *flags):
    includes = [f"-I{tree.root() / directory}" for directory in ("include", "backends/include")]
    command = [sys.argv[2], "-std=c++17", *includes, "-E", *flags, "-x", "c++", "-"]
    return subprocess.run(
        command, input=f"#include <{header}>\n", check=True, stdout=subprocess.PIPE, text=True).stdout


def problems_of(header, most):
    count = len(preprocess(header, "-P").splitlines())
    print(f"{header}: {count} lines of {most}")
    yield from (f"{path} comes in through {header}" for path in preprocess(header, "-M").split() if FOREIGN.search(path))
    if count > most:
        yield f"{header} is {count} lines after the preprocessor; {most} are the budget"


def main():
    tree.finish([problem for header, most in LINES.items() for problem in problems_of(header, most)])


main()
