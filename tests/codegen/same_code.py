# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Compiles two files with TAKT_ENABLED=0. Fails unless their functions are the same machine code, without symbols of
Takt."""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def functions_of(listing):
    """Returns the instructions of each function in a disassembly, without addresses."""
    functions = {}
    for name, body in re.findall(r"^[0-9a-f]+ <(\w+)>:\n(.*?)(?:\n\n|\Z)", listing, re.MULTILINE | re.DOTALL):
        lines = [line.split("\t", 1)[1].strip() for line in body.splitlines() if "\t" in line]
        functions[name] = [re.sub(r"\b[0-9a-f]+(?=:? )", "", line) if ":" in line or "<" in line else line for line in lines]
    return functions


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("instrumented")
    parser.add_argument("plain")
    arguments = parser.parse_args()

    codes = []
    with tempfile.TemporaryDirectory() as directory:
        for source in (arguments.instrumented, arguments.plain):
            object_file = pathlib.Path(directory, pathlib.Path(source).stem + ".o")
            includes = [f"-I{path}" for path in arguments.include]
            run(arguments.compiler, "-std=c++17", "-O2", "-DTAKT_ENABLED=0", *includes, "-c", source, "-o", object_file)
            codes.append(functions_of(run("objdump", "-dr", "--no-show-raw-insn", object_file)))
            left = [line for line in run("nm", "-C", object_file).splitlines() if "takt::" in line]
            if left:
                sys.exit(f"{source} still has symbols of Takt:\n" + "\n".join(left))
    instrumented, plain = codes
    if not plain or instrumented.keys() != plain.keys():
        sys.exit(f"functions: {sorted(instrumented)} and {sorted(plain)}")
    for name, code in plain.items():
        if instrumented[name] != code:
            sys.exit(f"{name}, instrumented:\n  " + "\n  ".join(instrumented[name]) + "\nplain:\n  " + "\n  ".join(code))
        print(f"{name}: the same {len(code)} instructions")


if __name__ == "__main__":
    main()
