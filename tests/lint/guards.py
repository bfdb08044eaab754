# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Fails if a library of Takt's has a function-local static that is initialized at first use: a child forked during the
initialization would wait forever. Use base/threads.hpp instead."""

import pathlib
import subprocess
import sys


def main():
    nm, *libraries = sys.argv[1:]
    found = []
    for library in libraries:
        if not pathlib.Path(library).is_file():
            sys.exit(f"{library} is not built: build everything first")
        symbols = subprocess.run([nm, "-C", library], check=True, capture_output=True, text=True).stdout.splitlines()
        if not any("takt::" in symbol for symbol in symbols):
            sys.exit(f"no symbol of Takt's in {library}")
        found += [f"{library}: {symbol.split(' ', 2)[2]}" for symbol in symbols if "guard variable for takt::" in symbol]
    print("\n".join(found))
    sys.exit(f"{len(found)} problem(s)" if found else 0)


main()
