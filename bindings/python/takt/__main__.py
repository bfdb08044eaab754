# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""`python -m takt --prefix` prints the directory of libtakt, its headers and CMake files; anything else is a command of
`takt`, such as `python -m takt report`."""

import os
import pathlib
import sys

PREFIX = pathlib.Path(__file__).resolve().parent


def command():
    program = PREFIX / "bin" / "takt"
    if not program.is_file():
        sys.exit("takt: this build has no command: install CLI11 (Debian and Ubuntu: libcli11-dev), then takt again")
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    if sys.argv[1:] == ["--prefix"]:
        print(PREFIX)
    else:
        command()
