# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""For which GPUs a program has code: what cuobjdump lists, which not every CUDA toolkit brings."""

import struct
import subprocess

MAGIC = 0xBA55ED50  # at the head of each of nvcc's fat binaries, which lie one behind the other
HEAD = struct.Struct("<IHHQ")  # that, version, bytes of this head, bytes of the entries behind it
ENTRY = struct.Struct("<HHIQ12xI")  # kind, attributes, bytes of this head, bytes behind it, architecture
PTX = 1


def section_of(program, name):
    """Its bytes; none where there is no such section."""
    listed = subprocess.run(["objdump", "-h", str(program)], check=True, stdout=subprocess.PIPE, text=True).stdout
    for fields in map(str.split, listed.splitlines()):
        if len(fields) > 5 and fields[1] == name:
            offset = int(fields[5], 16)
            return program.read_bytes()[offset:offset + int(fields[2], 16)]
    return b""


def architectures(program):
    """Such as {"sm_80", "ptx"}; empty where there is no device code."""
    section = section_of(program, ".nv_fatbin")
    found = set()
    at = section.find(struct.pack("<I", MAGIC))
    while at >= 0:
        _, _, head, size = HEAD.unpack_from(section, at)
        entry = at + head
        end = entry + size
        while entry + ENTRY.size <= end:
            kind, _, head, size, architecture = ENTRY.unpack_from(section, entry)
            found.add("ptx" if kind == PTX else f"sm_{architecture}")
            entry += head + size
        at = section.find(struct.pack("<I", MAGIC), end)
    return found
