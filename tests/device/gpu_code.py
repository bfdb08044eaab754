# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Lists the GPU architectures that a program has code for, like cuobjdump, which some CUDA toolkits lack."""

import struct
import subprocess

MAGIC = 0xBA55ED50  # start of each of nvcc's consecutive fat binaries
HEAD = struct.Struct("<IHHQ")  # magic, version, header size, size of the entries after it
ENTRY = struct.Struct("<HHIQ12xI")  # kind, attributes, header size, data size, architecture
PTX = 1


def section_of(program, name):
    """Returns the section's bytes; none if the section is missing."""
    listed = subprocess.run(["objdump", "-h", str(program)], check=True, stdout=subprocess.PIPE, text=True).stdout
    for fields in map(str.split, listed.splitlines()):
        if len(fields) > 5 and fields[1] == name:
            offset = int(fields[5], 16)
            return program.read_bytes()[offset:offset + int(fields[2], 16)]
    return b""


def architectures(program):
    """Returns for example {"sm_80", "ptx"}; empty if there is no device code."""
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
