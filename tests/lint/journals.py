# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that tests/data has journals of each format version and with each frame type, and that a test reads every one
of them."""

import re
import struct
import tree

HEADER = 64
FRAME = struct.Struct("<IIIHHQ")
MAGIC = 0x6D724674


def numbers(path, pattern):
    return {int(number) for number in re.findall(pattern, (tree.root() / path).read_text(encoding="utf-8"), re.MULTILINE)}


def frame_types(data):
    at = HEADER
    while at + FRAME.size <= len(data):
        magic, length, _, kind, _, _ = FRAME.unpack_from(data, at)
        if magic != MAGIC:
            return
        yield kind
        at += FRAME.size + (length + 7) // 8 * 8


def problems():
    tests = "".join(text for path, text in tree.files((".cpp",), ("tests",)))
    versions, types, count = set(), set(), 0
    for path in sorted((tree.root() / "tests/data").glob("*/*.tjl")):
        data = path.read_bytes()
        versions.add(struct.unpack_from("<I", data, 8)[0])
        types.update(frame_types(data))
        count += 1
        if f'"{path.parent.name}"' not in tests:
            yield f"no test names {path.parent.relative_to(tree.root())}"
    print(f"{count} journals, versions {sorted(versions)}, types {sorted(types)}")
    newest = numbers("src/journal/journal_format.hpp", r"kJournalVersion = (\d+);")
    for version in range(1, max(newest) + 1):
        if version not in versions:
            yield f"no journal in tests/data is of version {version}"
    text = (tree.root() / "src/journal/journal_format.hpp").read_text(encoding="utf-8")
    known = re.search(r"enum class FrameType[^{]*\{(.*?)\};", text, re.DOTALL)[1]
    for name, kind in re.findall(r"(\w+) = (\d+),", known):
        if int(kind) not in types:
            yield f"no journal in tests/data has a frame of type {kind}, {name}"


tree.finish(list(problems()))
