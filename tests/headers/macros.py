# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that each macro of a public header starts with TAKT_. usage: macros.py <root>"""

import pathlib
import re
import sys

from compile_alone import INCLUDE_DIRS


def main():
    root = pathlib.Path(sys.argv[1])
    headers = [path for directory in INCLUDE_DIRS for path in sorted((root / directory).rglob("*.hpp"))]
    defined = [(path, name) for path in headers
               for name in re.findall(r"^\s*#\s*define\s+(\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)]
    problems = [f"{path.relative_to(root)}: {name} does not begin with TAKT_" for path, name in defined
                if not name.startswith("TAKT_")]
    print(*problems, f"{len(defined)} macros in {len(headers)} public headers", sep="\n")
    sys.exit(bool(problems) or not defined)


main()
