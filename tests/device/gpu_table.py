# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""The table of the checks on a GPU: its rows, as text and as a page. Needs only Python 3.8 and its standard library."""

import os

COLUMNS = ("check", "what", "expected", "measured", "verdict")


def row(check, what, expected, measured, right):
    """`right` may be None: for information only."""
    return (check, what, expected, measured, "info" if right is None else "pass" if right else "fail")


def left_out(check, what, why):
    """Returns a row for a check that cannot run here, with the reason."""
    return (check, what, "", why, "skip")


def rows_in(printed):
    """Returns the rows that a program printed: five tab-separated fields per line."""
    return [tuple(line.split("\t")) for line in printed.splitlines() if line.count("\t") == len(COLUMNS) - 1]


def columns(rows):
    widths = [max(len(each[column]) for each in rows) for column in range(len(COLUMNS))]
    return ["  ".join(word.ljust(width) for word, width in zip(each, widths)).rstrip() for each in rows]


def count(rows, verdict):
    return sum(each[-1] == verdict for each in rows)


def cells(words):
    return "| " + " | ".join(word.replace("|", "\\|") for word in words) + " |"


def page(about, rows, missing):
    """`missing`: the names of the checks that have not run yet."""
    lines = ["# Checked on a GPU", "",
             "Written by `scripts/device-check.sh`; not to be edited. [gpu.md](gpu.md#checked-on-hardware) says what the checks are.", "",
             *[f"* {name}: {value}" for name, value in about], ""]
    if missing:
        lines += [f"**Not finished.** These have not run: {', '.join(missing)}.", ""]
    lines += [f"{count(rows, 'pass')} right, {count(rows, 'fail')} not, {count(rows, 'info')} figures of which nothing was expected, "
              f"{count(rows, 'skip')} left out.", "", cells(COLUMNS), cells(["---"] * len(COLUMNS)), *[cells(each) for each in rows]]
    return "\n".join(lines) + "\n"


def write(path, text):
    """Replaces the file atomically: a reader finds the complete old version or the complete new one."""
    beside = path.with_name(path.name + ".new")
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, path)
