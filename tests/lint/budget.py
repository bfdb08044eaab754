# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""What including the front door costs: at most 10 000 lines after the preprocessor, of the standard library and Takt alone."""

import re
import subprocess
import sys
import tree

LINES = 10_300
FOREIGN = re.compile(r"/(fmt|nlohmann|CLI|catch2|benchmark|curl|nvtx3)/")


def preprocess(*flags):
    includes = [f"-I{tree.root() / folder}" for folder in ("include", "backends/include")]
    command = [sys.argv[2], "-std=c++17", *includes, "-E", *flags, "-x", "c++", "-"]
    return subprocess.run(
        command, input="#include <takt/takt.hpp>\n", check=True, stdout=subprocess.PIPE, text=True).stdout


def main():
    count = len(preprocess("-P").splitlines())
    print(f"takt/takt.hpp: {count} lines of {LINES}")
    problems = [f"{path} comes in through takt/takt.hpp" for path in preprocess("-M").split() if FOREIGN.search(path)]
    if count > LINES:
        problems.append(f"takt/takt.hpp is {count} lines after the preprocessor; {LINES} are the budget")
    tree.finish(problems)


main()
