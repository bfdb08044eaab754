# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Whatever frames a journal has, with correct checksums: no command takes more than 256 MiB or much time for a journal
of up to 1 MB."""

import os
import shutil
import struct
import subprocess
import unittest

import rig

COMMAND = os.environ["COMMAND"]
HAS_MLFLOW = "HAS_MLFLOW" in os.environ
MOST_BYTES = 1_000_000
MOST_MEMORY = 256 << 20
SECONDS = 20  # each takes less than 2 on an idle machine

(PATH, THREAD, SERIES, PARAM, TOTALS, LOSSES, OPEN, ROW, METRIC, PERIOD, DEVICES, EARLY, AMENDMENT, TIME_LINES, ROWS, METRICS, METERS, SAMPLED,
 SAMPLES) = (3, 4, 5, 6, 8, 9, 10, 11, 12, 14, 16, 17, 18, 19, 20, 21, 24, 25, 26)
HIGHEST = (1 << 64) - 1


def crc_table():
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        yield value


TABLE = tuple(crc_table())


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = TABLE[(value ^ byte) & 0xFF] ^ value >> 8
    return value ^ 0xFFFFFFFF


def u(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def s(value):
    return u((value << 1 ^ value >> 63) & HIGHEST)


def t(text):
    return u(len(text)) + text


def f(value):
    return struct.pack("<d", value)


class Journal:
    """Appends frames to those of a real journal."""

    def __init__(self, real):
        self.bytes = bytearray(real)
        self.number = real.count(b"tFrm")

    def add(self, kind, payload, number=None):
        head = struct.pack("<HHQ", kind, 0, self.number if number is None else number)
        checked = struct.pack("<I", len(payload)) + head + payload
        self.bytes += b"tFrm" + checked[:4] + struct.pack("<I", crc32c(checked)) + head + payload + bytes(-len(payload) % 8)
        self.number += 1

    def room(self, payload):
        """Returns how many frames of this size fit."""
        return (MOST_BYTES - len(self.bytes)) // (24 + payload + 8)

    def period(self):
        self.add(PERIOD, s(10 ** 9) + s(0) + s(0) + s(0) + u(0))


def path(index, name=b"x", parent=0xFFFFFFFF, depth=0):
    return u(index) + t(name) + u(0) + u(parent) + u(depth)


def series(index, of, thread=0):
    return u(index) + u(of) + u(thread) + u(HIGHEST) + u(0) + b"".join(u(HIGHEST) for _ in range(6)) + f(1e308) * 4


# Each function adds meaningless frames to a journal.

def highest_indices(journal):
    for index in (5, 4000, 1 << 16, 1 << 20, 0xFFFFFFFE, 65535, (1 << 20) - 1):
        journal.add(PATH, path(index))
        journal.add(THREAD, u(index) + u(index) + t(b"thread") + u(0))
        journal.add(SERIES, series(index, index, index))
        journal.add(OPEN, u(1) + u(index) + u(index) + s(1))


def many_paths(journal):
    for index in range(journal.room(10)):
        journal.add(PATH, path(index + 100))


def deep_and_wide(journal):
    for index in range(64):
        journal.add(PATH, path(index + 100, b"n" * 200, 0xFFFFFFFF if index == 0 else index + 99, index))
    for index in range(journal.room(12)):
        journal.add(PATH, path(index + 164, b"w", 163, 64))


def many_series(journal):
    for index in range(journal.room(110)):
        journal.add(SERIES, series(index + 4, index % 7, index % 3))


def many_series_of_many_threads(journal):
    for index in range(journal.room(130) // 2):
        journal.add(THREAD, u(index) + u(HIGHEST) + t(b"\xff\x00\x1b") + u(1))
        journal.add(SERIES, series(index, 0, index))


def long_metric_name(journal):
    count = 40_000
    values = b"".join(u(0) + f(float("nan")) + s(-1) + s(1) for _ in range(count))
    journal.add(METRICS, u(0) + u(1) + t(b"m" * (MOST_BYTES - len(journal.bytes) - len(values) - 1000)) + u(count) + values)


def many_metric_names(journal):
    count = 30_000
    names = b"".join(t(b"%d" % each) for each in range(count))
    journal.add(METRICS, u(0) + u(count) + names + u(count) + b"".join(u(each) + f(1e308) + s(1) + s(-1) for each in range(count)))


def wide_rows(journal):
    cells = 500
    row = u(16) + u(0) + s(-(1 << 63)) + s((1 << 63) - 1) + u(HIGHEST) + s(1) + s(1) + u(cells)
    rows = u(0) + s(1) + s(1) + u(1) + s(1) + s(1) + u(cells) + b"".join(u(each) + u(HIGHEST) for each in range(cells)) + u(1) * cells
    same = u(2 | 4 | 8 | 16 | 64) + s(1) + u(1) + u(1) * cells
    count = (MOST_BYTES - len(journal.bytes) - len(rows) - 1000) // len(same)
    journal.add(ROWS, u(0) + u(count + 1) + u(0) + rows + same * count)
    journal.add(ROWS, u(0) + u(1) + row)


def many_rows(journal):
    first = u(0) + u(0) + s(1) + s(1) + u(1) + s(1) + s(1) + u(0)
    same = u(1 | 2 | 4 | 8 | 16 | 64) + s(1) + u(1)
    count = (MOST_BYTES - len(journal.bytes) - 1000) // len(same)
    journal.add(ROWS, u(0) + u(count) + first + same * (count - 1))


def counts_beyond_the_bytes(journal):
    for kind in (LOSSES, OPEN, DEVICES, TIME_LINES, METERS, SAMPLED):
        for count in (HIGHEST, 1 << 32, 100_000):
            journal.add(kind, u(count) + bytes(100_000 if kind in (OPEN, LOSSES) else 10))
    for kind in (ROWS, METRICS, SAMPLES):
        journal.add(kind, u(HIGHEST) + u(HIGHEST) + bytes(1000))


def one_frame(kind):
    def of_zeros(journal):
        room = MOST_BYTES - len(journal.bytes) - 1000
        journal.add(kind, u(room - 4) + bytes(room - 4))
    of_zeros.__name__ = f"zeros_of_{kind}"
    return of_zeros


def notes(journal):
    for each in range(journal.room(8)):
        journal.add(PARAM, t(b"%06d" % each) + t(b""))


def early_rows(journal):
    for each in range(journal.room(14)):
        journal.add(EARLY, u(each) + u(0) + s(1) + s(1) + s(1) + s(1) + s(1) + u(0) + u(0) + u(0))


def numbers_of_frames(journal):
    for number in (HIGHEST, HIGHEST - 1, 0, 1 << 63):
        journal.add(PARAM, t(b"a") + t(b"b"), number)


def times(journal):
    for wall in ((1 << 63) - 1, -(1 << 63), 0):
        journal.add(PERIOD, s(wall) + s(wall) + s(wall) + s(wall) + u(1) + s(wall) * 6)
        journal.add(ROW, u(HIGHEST) + u(0) + s(wall) * 5 + u(0) + u(1) + u(1) + u(0) + u(HIGHEST) + s(wall) + s(wall))
        journal.add(METRIC, u(HIGHEST) + t(b"m") + f(wall) + s(wall) + s(wall))


def totals(journal):
    summary = u(HIGHEST) * 12 + u(3) + (u(0) + u(HIGHEST)) + (u(1) + u(HIGHEST)) + (u(100) + u(HIGHEST))
    for index in range(50):
        journal.add(TOTALS, u(index) + u(HIGHEST) * 6 + summary + u(1) + summary)


SHAPES = (highest_indices, many_paths, deep_and_wide, many_series, many_series_of_many_threads, long_metric_name, many_metric_names, wide_rows,
          many_rows, counts_beyond_the_bytes, notes, early_rows, numbers_of_frames, times, totals,
          *(one_frame(kind) for kind in (LOSSES, OPEN, DEVICES, TIME_LINES, METERS, SAMPLED)))


class HostileJournal(rig.Case):
    def setUp(self):
        super().setUp()
        self.run_program("hang", stdin=subprocess.DEVNULL)
        self.run_directory = self.directory()
        self.real = (self.run_directory / "journal-00000.tjl").read_bytes()

    def commands(self):
        run = self.run_directory
        yield ("report", run), {}
        yield ("report", "--json", run), {}
        yield ("report", "--steps", run), {}
        yield ("report", "--csv", run), {}
        yield ("report", "--html", self.scratch / "page.html", run), {}
        yield ("check", run), {}
        yield ("ls", self.runs), {}
        yield ("scaling", run), {}
        yield ("diff", run, "--", run), {}
        yield ("trace", run, "-o", self.scratch / "time line.json"), {}
        yield ("sync", "--to", "wandb", run), {"WANDB_DIR": self.scratch, "WANDB_MODE": "offline"}
        yield ("sync", "--to", "tensorboard", run), {"TAKT_TENSORBOARD_DIR": self.scratch / "events"}
        if HAS_MLFLOW:
            yield ("sync", "--to", "mlflow", "--patience", "0", run), {"MLFLOW_TRACKING_URI": "http://127.0.0.1:1"}

    def cost_of(self, words, variables):
        """Returns (status, seconds, bytes, output)."""
        with open(self.scratch / "said", "wb") as said:
            started = subprocess.Popen([COMMAND, *map(str, words)], stdout=said, stderr=subprocess.STDOUT, cwd=self.scratch,
                                       env=rig.environment(HOME=self.scratch, **{name: str(value) for name, value in variables.items()}))
            _, status, usage = os.wait4(started.pid, 0)
            started.returncode = os.waitstatus_to_exitcode(status)
        return started.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, self.scratch / "said"

    def test_no_command_takes_much(self):
        plain = max(self.cost_of(words, variables)[2] for words, variables in self.commands())
        for shape in SHAPES:
            journal = Journal(self.real)
            shape(journal)
            journal.period()
            self.assertLessEqual(len(journal.bytes), MOST_BYTES * 1.05)
            for words, variables in self.commands():
                with self.subTest(shape=shape.__name__, words=words):
                    for made in (self.scratch / "wandb", self.scratch / "events", self.run_directory / "tensorboard"):
                        shutil.rmtree(made, ignore_errors=True)
                    for path in self.run_directory.iterdir():
                        path.unlink()
                    (self.run_directory / "journal-00000.tjl").write_bytes(journal.bytes)
                    status, took, used, said = self.cost_of(words, variables)
                    if "SHOW_COSTS" in os.environ:
                        print(f"{shape.__name__:32} {words[0]:8} {str(words[1])[:8]:8} {status:3} {took:6.2f} s {used >> 20:5} MiB "
                              f"{said.stat().st_size >> 10:6} KiB said", flush=True)
                    self.assertIn(status, (0, 1, 2, 3, 4), said.read_bytes()[-2000:])
                    self.assertLess(took, SECONDS * rig.SLACK)
                    self.assertLess(used, max(MOST_MEMORY, 2 * plain))


if __name__ == "__main__":
    rig.main()
