#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Counts the instructions of one region under callgrind and compares them with the baseline in instructions.json.

usage: instructions.py PROGRAM CONFIGURATION [--update]

Seconds differ from machine to machine and from minute to minute; instructions of one compiler do not, but for what Takt's own threads do
meanwhile, which only adds: a shape that seems to have too many is counted again, and the least of three counts is taken. It fails above
105 % of its baseline. Without valgrind, or without a baseline for the configuration, the exit status is 77: skipped.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SHAPES = ("hot", "deep", "train", "rows", "lap", "handle", "loop", "trials", "pull")  # the last three: steps without regions
FEW, MANY = 5010, 25050  # multiples of an epoch of 501 regions
ALLOWED = 1.05
BASELINE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "instructions.json")


def count(program, shape, regions):
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", program, shape, str(regions)]
        # valgrind makes every clock read a system call: the counter must not be judged by it.
        environment = {**os.environ, "TAKT_CLOCK": "counter", "LC_ALL": "C"}
        run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=True)
    return int(re.search(r"Collected : (\d+)", run.stderr).group(1))


def a_region(program, shape, most):
    """Instructions of one region; counted again where they are more than `most`."""
    few = many = None
    for _ in range(3):
        few = min(count(program, shape, FEW), few or sys.maxsize)
        many = min(count(program, shape, MANY), many or sys.maxsize)
        measured = round((many - few) / (MANY - FEW), 1)
        if measured <= most:
            break
    return measured


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
    allowed = {shape: sys.maxsize if update else baselines[configuration][shape] * ALLOWED for shape in SHAPES}
    measured = {shape: a_region(program, shape, allowed[shape]) for shape in SHAPES}
    if update:
        baselines[configuration] = measured
        with open(BASELINE, "w", encoding="utf-8") as file:
            json.dump(baselines, file, indent=2, sort_keys=True)
            file.write("\n")
    failed = False
    print(f"instructions a region, {configuration}")
    for shape in SHAPES:
        bad = not update and measured[shape] > allowed[shape]
        failed = failed or bad
        print(f"{shape:8} {measured[shape]:8.1f}  baseline {baselines[configuration][shape]:8.1f}{'  TOO MANY' if bad else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
