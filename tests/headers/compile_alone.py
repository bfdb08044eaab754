# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Compiles each public header as its own translation unit, included twice, with hostile macros defined; with --together
all of them in one unit, in order and in reverse.

A header with a missing include fails alone in every standard, so one standard is enough for that. Code that another
standard or compiler rejects also fails in one unit, which takes only seconds."""

import argparse
import pathlib
import subprocess
import sys
import tempfile

INCLUDE_DIRS = ("include", "backends/include", "exporters/include")
# Headers that training files include must work without exceptions and RTTI.
TIMING = ("takt/takt.hpp", "takt/timer.hpp", "takt/scope.hpp", "takt/key.hpp", "takt/summary.hpp", "takt/stream.hpp",
          "takt/graph.hpp")
TIMING_DIRS = ("takt/backends/", "takt/detail/")
NEEDS_EXCEPTIONS = "takt/detail/torch_"  # as libtorch does
# These need libtorch, which the hostile macros would break: tests/torch compiles them.
TORCH = ("takt/torch.hpp", "takt/detail/torch_observer.hpp")
# Macros of <complex.h>, <rpcndr.h>, <termios.h> and <sys/sysmacros.h>.
HOSTILE = "#define I 42\n#define small char\n#define B0 0\n#define major(x) x\n#define minor(x) x\n"


def public_headers(root):
    for directory in INCLUDE_DIRS:
        base = root / directory
        for path in sorted(base.rglob("*.hpp")):
            if (name := path.relative_to(base).as_posix()) not in TORCH:
                yield name


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--standard", required=True)
    parser.add_argument("--mpi", help="the directory of mpi.h; without it the header that includes it is left out")
    parser.add_argument("--timing-only", action="store_true", help="timing headers, -fno-exceptions -fno-rtti")
    parser.add_argument("--together", action="store_true", help="one unit with all of them")
    parser.add_argument("--everything", action="store_true", help="with every warning of clang's but for older standards")
    arguments = parser.parse_args()

    headers = [name for name in public_headers(arguments.root) if arguments.mpi or name != "takt/mpi.hpp"]
    flags = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wpedantic", "-Werror", "-fsyntax-only"]
    if arguments.timing_only:
        headers = [name for name in headers if name in TIMING or name.startswith(TIMING_DIRS)]
        headers = [name for name in headers if not name.startswith(NEEDS_EXCEPTIONS)]
        flags += ["-fno-exceptions", "-fno-rtti"]
    if arguments.everything:
        flags += ["-Weverything", "-Wno-c++98-compat", "-Wno-c++98-compat-pedantic", "-Wno-unused-macros"]
    if not headers:
        sys.exit("no header found")
    with tempfile.TemporaryDirectory() as directory:
        units = []
        for names in [headers + headers[::-1]] if arguments.together else [[name, name] for name in headers]:
            units.append(str(pathlib.Path(directory, f"unit_{len(units)}.cpp")))
            pathlib.Path(units[-1]).write_text(HOSTILE + "".join(f"#include <{name}>\n" for name in names), encoding="utf-8")
        includes = [f"-I{arguments.root / path}" for path in INCLUDE_DIRS]
        includes += [f"-isystem{arguments.mpi}"] if arguments.mpi else []
        command = [arguments.compiler, f"-std=c++{arguments.standard}", *flags, *includes, *units]
        status = subprocess.run(command, check=False).returncode
    print(f"{len(headers)} headers, C++{arguments.standard}, {arguments.compiler}")
    sys.exit(status)


if __name__ == "__main__":
    main()
