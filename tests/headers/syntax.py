# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks every source of a build with another compiler, using the build's commands: syntax.py <compiler>
<compile_commands.json>."""

import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys


def command_of(entry, compiler):
    """Returns the entry's command for that compiler, without an output file."""
    words = shlex.split(entry["command"])
    # after ccache and the other compiler
    words = words[next(at for at, word in enumerate(words) if word.startswith("-")):]
    # clang++ supports neither this warning nor g++'s parameters.
    words = [word for word in words if word != "-Wno-subobject-linkage" and not word.startswith("--param=")]
    if "clang" not in compiler:
        words.append("-Wno-subobject-linkage")
    result = words.index("-o")
    # The build's compiler may use C++17 by default, without an option.
    return [compiler, "-std=c++17", *words[:result], *words[result + 2:], "-fsyntax-only", "-Werror"]


def main():
    compiler, database = sys.argv[1], pathlib.Path(sys.argv[2])
    entries = json.loads(database.read_text(encoding="utf-8"))

    def compiled(entry):
        return subprocess.run(command_of(entry, compiler), cwd=entry["directory"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)

    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", 2))) as pool:
        results = list(pool.map(compiled, entries))
    for result in results:
        if result.returncode != 0 or result.stdout:
            print(shlex.join(result.args), result.stdout, sep="\n")
    failed = sum(result.returncode != 0 for result in results)
    print(f"{compiler}: {len(results)} sources, {failed} failed")
    sys.exit(1 if failed or not results else 0)


main()
