# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that private names are unique in a library, so that its sources can be compiled together in batches of any
size.

A second definition of the same function would fail to compile, depending on the batch. An overload would compile, and
the other source might call it."""

import collections
import functions
import pathlib
import re
import tree

PRIVATE = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"^(?:constexpr|const|thread_local|static|std::atomic<[^;=]*>)\b[^;=({]*?\b(k?\w+)\s*(?:\[[^\]]*\]\s*)?(?:=|\{|;)"
                   r"|^(?:struct|class|enum class|enum|union)\s+(\w+)[^;]*\{|^using (\w+ = [^;]*);", re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*")
COMMAND = ("src/cli",)
# Each source in these directories is a library of its own.
SEPARATE = ("backends/src", "exporters/src/profilers")


def functions_of(block):
    """Returns the functions outside of classes: their last line is not indented."""
    lines = block.splitlines()
    for each in functions.of(block):
        if re.fullmatch(r"\w+", each.name) and not lines[each.line + each.lines - 2].startswith(" "):
            yield each.name


def private_names(text):
    for block in PRIVATE.findall(text):
        yield from functions_of(block)
        for constant, kind, alias in NAMED.findall(COMMENT.sub("", block)):
            yield constant or kind or alias  # with its meaning: an alias may be defined again if it is the same


def scope_of(path):
    """Returns the scope of a source. Sources with the same scope may be compiled together: libtakt, the command, or
    another directory."""
    directory = pathlib.PurePath(path).parent.as_posix()
    if directory in COMMAND:
        return "the command"
    return "libtakt" if directory.startswith("src/") else directory


def main():
    problems = []
    checked = 0
    users = collections.defaultdict(dict)
    for path, text in tree.files((".cpp",), ("src", "backends", "exporters")):
        if path.startswith(SEPARATE):
            continue
        for name in private_names(text):
            checked += 1
            name, _, meaning = name.partition(" = ")
            users[scope_of(path), name][path] = meaning or path
    for (_, name), paths in sorted(users.items()):
        if len(set(paths.values())) > 1:
            problems.append(f"{name} is private to each of {', '.join(sorted(paths))}")
    print(f"{checked} private names")
    tree.finish(problems if checked else ["no private name found"])


main()
