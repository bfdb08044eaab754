# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Cost of a region in Python, beside an empty contextlib.nullcontext in the same run."""

import contextlib
import statistics
import time

import takt

HELD = takt.region("held")
NOTHING = contextlib.nullcontext()


def loop(n):
    for _ in range(n):
        pass


def nullcontext(n):
    for _ in range(n):
        with NOTHING:
            pass


def held(n):
    for _ in range(n):
        with HELD:
            pass


def named(n):
    for _ in range(n):
        with takt.region("Forward"):
            pass


def main():
    rows = {"with nullcontext": nullcontext, "with held region": held, 'with takt.region("Forward")': named}
    times = {name: [] for name in rows}
    for _ in range(501):
        for name, function in rows.items():
            n = 1000
            begin = time.perf_counter_ns()
            function(n)
            middle = time.perf_counter_ns()
            loop(n)
            times[name].append((2 * middle - begin - time.perf_counter_ns()) / n)
    medians = {name: statistics.median(each) for name, each in times.items()}
    for name, ns in medians.items():
        print(f"{name:28} {ns:5.0f} ns  {ns - medians['with nullcontext']:+5.0f} ns")


main()
