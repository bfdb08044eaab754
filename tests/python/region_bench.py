# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Cost of a region in Python, beside an empty contextlib.nullcontext in the same run: in a loop, and with cold caches."""

import contextlib
import statistics
import time

import takt

HELD = takt.region("held")
NOTHING = contextlib.nullcontext()
SWEPT = bytearray(64 << 20)  # larger than most last-level caches


def nothing():
    pass


TIMED = takt._takt.TimedCall(nothing, HELD)


def empty(times):
    for _ in times:
        pass


def nullcontext(times):
    for _ in times:
        with NOTHING:
            pass


def held(times):
    for _ in times:
        with HELD:
            pass


def named(times):
    for _ in times:
        with takt.region("Forward"):
            pass


def call(times):
    for _ in times:
        nothing()


def timed_call(times):
    for _ in times:
        TIMED()


ROWS = {"with nullcontext": nullcontext, "with held region": held, 'with takt.region("Forward")': named,
        "call of a function": call, "the same as a TimedCall": timed_call}


def measure(rounds, n, sweep):
    """Returns the median ns of each row beyond an empty loop."""
    times = {row: [] for row in ROWS}
    for _ in range(rounds):
        for row, function in ROWS.items():
            taken = []
            for each in (function, empty):
                sweep()
                begin = time.perf_counter_ns()
                each(range(n))
                taken.append(time.perf_counter_ns() - begin)
            times[row].append((taken[0] - taken[1]) / n)
    return {row: statistics.median(each) for row, each in times.items()}


def main():
    loop, cold = measure(501, 1000, lambda: None), measure(101, 1, lambda: bytes(SWEPT))
    print(f"{'':28} {'in a loop':>9}  {'with cold caches':>16}")
    for row in ROWS:
        print(f"{row:28} {loop[row]:6.0f} ns  {cold[row]:13.0f} ns")


main()
