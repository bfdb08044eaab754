# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""What including a door of Takt costs: so many lines after the preprocessor, of the standard library and Takt alone."""

import re
import subprocess
import sys
import tree

# The whole of it, and what marks regions alone, for files that are compiled often.
LINES = {"takt/takt.hpp": 10_000, "takt/scope.hpp": 4_600}
FOREIGN = re.compile(r"/(fmt|nlohmann|CLI|catch2|benchmark|curl|nvtx3)/")


def preprocess(door, *flags):
    includes = [f"-I{tree.root() / folder}" for folder in ("include", "backends/include")]
    command = [sys.argv[2], "-std=c++17", *includes, "-E", *flags, "-x", "c++", "-"]
    return subprocess.run(
        command, input=f"#include <{door}>\n", check=True, stdout=subprocess.PIPE, text=True).stdout


def problems_of(door, most):
    count = len(preprocess(door, "-P").splitlines())
    print(f"{door}: {count} lines of {most}")
    yield from (f"{path} comes in through {door}" for path in preprocess(door, "-M").split() if FOREIGN.search(path))
    if count > most:
        yield f"{door} is {count} lines after the preprocessor; {most} are the budget"


def main():
    tree.finish([problem for door, most in LINES.items() for problem in problems_of(door, most)])


main()
