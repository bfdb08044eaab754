# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Reads W&B's log, based on the description of the format and without other implementations."""

import struct
import zlib


def whole_records(log):
    """Returns the complete records in a log's bytes."""
    records, record, at = [], b"", 7
    while at + 7 <= len(log):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        crc, length, kind = struct.unpack_from("<IHB", log, at)
        chunk = log[at + 6:at + 7 + length]
        if len(chunk) < 1 + length:
            break
        if zlib.crc32(chunk) != crc:
            raise AssertionError(f"checksum at {at}")
        record += chunk[1:]
        if kind in (1, 4):
            records.append(record)
            record = b""
        at += 7 + length
    return records
