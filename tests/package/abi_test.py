# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the ABI of a shared libtakt with the recorded one: abi_test.py <libtakt.so> [--update]

tests/package/libtakt.abi has the exported symbols and the sizes, members and values of public types, as reported by
abidw. A program linked with the recorded library works with this one if no line of the file disappears. The file is an
ordered list of lines, not abidw's own format, which is twenty times as long and changes when a function moves to
another source."""

import difflib
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STORED = HERE / "libtakt.abi"
SKIPPED = 77
SHOWN = 80  # lines
LONGEST = 60  # maximum characters of a name
OWN = re.compile(r"(type|member|base of|value) takt::|virtual _ZN?K?[A-Z]*4takt")
HEADERS = [word for directory in ("include", "backends/include") for word in ("--headers-dir", str(ROOT / directory))]
OPTIONS = ["--suppr", str(HERE / "libtakt.suppr"), "--drop-private-types", "--exported-interfaces-only", "--no-show-locs",
           "--no-corpus-path", "--no-comp-dir-path", "--no-parameter-names", "--no-write-default-sizes", "--no-elf-needed",
           "--drop-undefined-syms", "--no-architecture", "--type-id-style", "hash"]


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=240).stdout


def made_by(library):
    """Returns the compiler that the library names, and the version of abidw: others describe the same in different
    words."""
    comment = run("readelf", "-p", ".comment", library)
    compiler = re.search(r"(GCC|clang)\D*(\d+)\.", comment)
    tool = run("abidw", "--version")
    return f"# {' '.join(compiler.groups()) if compiler else 'unknown'}, {platform.machine()}, {tool.strip()}"


class Types:
    """Replaces abidw's numbers of types by their names; template names are shortened."""

    AROUND = {"pointer-type-def": "*", "reference-type-def": "&", "qualified-type-def": " const"}

    def __init__(self, root):
        self.by_id = {each.get("id"): each for each in root.iter() if each.get("id")}

    def spelled(self, number):
        element = self.by_id.get(number)
        if element is None:
            return "?"
        if element.tag in self.AROUND:
            return self.spelled(element.get("type-id")) + self.AROUND[element.tag]
        if element.tag == "array-type-def":
            return f"{self.spelled(element.get('type-id'))}[{int(element.get('size-in-bits')) // 8} bytes]"
        name = element.get("name", element.tag)
        return name if len(name) <= LONGEST else name[:LONGEST] + "..."


def lines_of(element, scope, types):
    """Returns the lines of a namespace or type and everything inside it."""
    name = element.get("name", "")
    inside = f"{scope}::{name}".lstrip(":") if element.tag in ("namespace-decl", "class-decl", "enum-decl", "union-decl") else scope
    size = element.get("size-in-bits")
    if element.tag in ("class-decl", "union-decl") and size:
        yield f"type {inside}: {int(size) // 8} bytes"
    if element.tag == "data-member" and element.get("layout-offset-in-bits"):
        member = element.find("var-decl")
        at = int(element.get("layout-offset-in-bits"))
        yield f"member {scope}::{member.get('name')} at {at // 8}.{at % 8}: {types.spelled(member.get('type-id'))}"
    if element.tag == "base-class":
        yield f"base of {scope} at {int(element.get('layout-offset-in-bits', 0)) // 8}: {types.spelled(element.get('type-id'))}"
    if element.tag == "member-function" and element.get("vtable-offset"):
        yield f"virtual {element.find('function-decl').get('mangled-name')}: {element.get('vtable-offset')}"
    if element.tag == "enumerator":
        yield f"value {scope}::{name} = {element.get('value')}"
    for child in element:
        yield from lines_of(child, inside, types)


def described(library):
    root = xml.etree.ElementTree.fromstring(run("abidw", *HEADERS, *OPTIONS, library))
    lines = {f"symbol {symbol.get('name')}" for symbol in root.iter("elf-symbol")}
    lines.update(line for line in lines_of(root, "", Types(root)) if OWN.match(line))
    return sorted(lines)


def compare(now, library):
    before = STORED.read_text(encoding="utf-8").splitlines()
    if before[0] != now[0]:
        print(f"not compared: stored is {before[0]}, this is {now[0]}")
        return SKIPPED
    changes = [line for line in difflib.unified_diff(before, now, "before", "now", lineterm="", n=2)]
    print(f"{len(now)} lines, {len(changes)} of differences", *changes[:SHOWN], sep="\n")
    if not changes:
        return 0
    if any(line.startswith("-") for line in changes[2:]):
        print("Something was removed or changed: programs that were linked before may not go on.")
        print("If that is meant, CHANGELOG.md says so.")
    print(f"To have it as it is now: python3 tests/package/abi_test.py {library} --update")
    return 1


def main():
    if not all(shutil.which(tool) for tool in ("abidw", "readelf")):
        print("not compared: no abidw (Debian and Ubuntu: apt-get install abigail-tools)")
        return SKIPPED
    library = sys.argv[1]
    now = [made_by(library), *described(library)]
    if sys.argv[2:] != ["--update"]:
        return compare(now, library)
    STORED.write_text("\n".join(now) + "\n", encoding="utf-8")
    print(f"{STORED.relative_to(ROOT)}: {STORED.stat().st_size} bytes, {now[0]}")
    return 0


sys.exit(main())
