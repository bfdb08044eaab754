# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Programs get the macros that are for them: each public header takes back those of Takt's own. macros.py <root>."""

import pathlib
import re
import sys

from compile_alone import INCLUDE_FOLDERS

DEFINE = re.compile(r"^#define (TAKT_\w+)", re.MULTILINE)
TAKES_BACK = "#include <takt/detail/macros_end.hpp>\n"
# TAKT_CONCAT is what TAKT_SCOPE is made of.
FOR_PROGRAMS = {"TAKT_SCOPE", "TAKT_ENABLED", "TAKT_CONCAT", "TAKT_CONCAT_",
                "TAKT_VERSION_MAJOR", "TAKT_VERSION_MINOR", "TAKT_VERSION_PATCH"}


def main():
    root = pathlib.Path(sys.argv[1])
    detail = root / "include/takt/detail"
    own = set(DEFINE.findall((detail / "macros_begin.hpp").read_text(encoding="utf-8")))
    taken_back = set(re.findall(r"^#undef (TAKT_\w+)", (detail / "macros_end.hpp").read_text(encoding="utf-8"), re.MULTILINE))
    problems = [f"macros_begin.hpp and macros_end.hpp differ by {name}" for name in sorted(own ^ taken_back)]
    uses = re.compile(rf"\b({'|'.join(sorted(own))})\b")
    defined = set()
    for folder in INCLUDE_FOLDERS:
        for path in sorted((root / folder).rglob("*.hpp")):
            if path.name.startswith("macros_"):
                continue
            text = path.read_text(encoding="utf-8")
            defined |= set(DEFINE.findall(text))
            last = max((use.end() for use in uses.finditer(text)), default=-1)
            if last > text.rfind(TAKES_BACK):
                problems.append(f"{path.relative_to(root)}: leaves Takt's own macros to who includes it")
    problems += [f"{name} is for no program" for name in sorted(defined - FOR_PROGRAMS)]
    problems += [f"no header has {name}" for name in sorted(FOR_PROGRAMS - defined)]
    print(*problems, f"{len(own)} macros of Takt's own", sep="\n")
    sys.exit(bool(problems))


main()
