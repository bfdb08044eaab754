#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Counts the instructions of one region under callgrind and compares them with the baseline in instructions.json.

usage: instructions.py PROGRAM CONFIGURATION [--update]

Times vary between machines and minutes. Instruction counts of one compiler vary only by some thousands per process,
because of addresses and Takt's own threads. Steps without regions take only about ten instructions each, so ten times
as many of them are counted. A shape fails above 105 % of its baseline. Exits with 77 (skipped) without valgrind or
without a baseline for the configuration.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

# the last three have steps without regions
SHAPES = ("hot", "deep", "train", "rows", "lap", "handle", "loop", "trials", "pull")
FEW, MANY = 5010, 100200  # multiples of an epoch, which has 501 regions
MANY_STEPS = 250500  # for shapes without regions
ALLOWED = 1.05
BASELINE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "instructions.json")


def count(program, shape, regions):
    with tempfile.TemporaryDirectory() as directory:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={directory}/out", program, shape, str(regions)]
        # valgrind turns every clock read into a system call, so the check of the counter against the clock is skipped.
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
