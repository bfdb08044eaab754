#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Counts the instructions of one region under callgrind and compares them with the baseline in instructions.json.

usage: instructions.py PROGRAM CONFIGURATION [--update]

Seconds differ from machine to machine and from minute to minute; instructions of one compiler do not, but for some thousands that a
process takes more or less by its addresses and by what Takt's own threads do. So steps without regions, of some ten instructions each,
are counted over ten times as many. A shape fails above 105 % of its baseline. Without valgrind, or without a baseline for the configuration, the exit status is 77: skipped.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SHAPES = ("hot", "deep", "train", "rows", "lap", "handle", "loop", "trials", "pull")  # the last three: steps without regions
FEW, MANY = 5010, 100200  # multiples of an epoch of 501 regions
MANY_STEPS = 250500  # of the shapes without regions
ALLOWED = 1.05
BASELINE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "instructions.json")


def count(program, shape, regions):
    with tempfile.TemporaryDirectory() as directory:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={directory}/out", program, shape, str(regions)]
        # valgrind makes every clock read a system call: the counter must not be judged by it.
        environment = {**os.environ, "TAKT_CLOCK": "counter", "LC_ALL": "C"}
        run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=True)
    return int(re.search(r"Collected : (\d+)", run.stderr).group(1))


def a_region(program, shape):
    many = MANY_STEPS if shape in SHAPES[-3:] else MANY
    return round((count(program, shape, many) - count(program, shape, FEW)) / (many - FEW), 1)


def main():
    arguments = [each for each in sys.argv[1:] if each != "--update"]
    if len(arguments) != 2:
        sys.exit(__doc__)
    program, configuration = arguments
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed")
        return 77
    with open(BASELINE, encoding="utf-8") as file:
        baselines = json.load(file)
    update = "--update" in sys.argv
    if configuration not in baselines and not update:
        print(f"skipped: no baseline for {configuration}; make one with --update")
        return 77
    measured = {shape: a_region(program, shape) for shape in SHAPES}
    if update:
        baselines[configuration] = measured
        with open(BASELINE, "w", encoding="utf-8") as file:
            json.dump(baselines, file, indent=2, sort_keys=True)
            file.write("\n")
    failed = False
    print(f"instructions a region, {configuration}")
    for shape in SHAPES:
        allowed = baselines[configuration][shape] * ALLOWED
        bad = measured[shape] > allowed
        failed = failed or bad
        print(f"{shape:8} {measured[shape]:8.1f}  baseline {baselines[configuration][shape]:8.1f}{'  TOO MANY' if bad else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
