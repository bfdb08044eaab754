# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the checks on a GPU, prints one table of them, and writes it down: gpu_check.py <build folder> [--write <file.md>]

Exits with 0 when all were right, 1 when one was not, 77 when there is no GPU. scripts/device-check.sh builds and calls it."""

import argparse
import datetime
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

SECONDS = 8 * 60  # that all may take
NO_DEVICE = 77
FAULTS = {"illegal_address": "a kernel writes where nothing is", "pending_at_exit": "exit with 1 000 spans pending",
          "reset": "cudaDeviceReset()", "child": "a forked child has regions",
          "pending_error": "an error of the application's own is pending"}
LEAVE = 0.3  # seconds by which Takt may lengthen a process that ends
PIECES = (1, 10, 100, 1000)
TRAINING = ("--steps", 30, "--samples", 8192, "--width", 4096, "--check", 0)
COLUMNS = ("check", "what", "expected", "measured", "verdict")


class Machine:
    """Programs, run one at a time with an environment that has nothing of Takt's; and how much time is left."""

    def __init__(self, build, scratch):
        self.end = time.monotonic() + SECONDS
        self.programs = build / "tests" / "device"
        self.gpu_check = self.programs / "gpu_check"
        self.training = build / "examples" / "example_18_cuda_training_step"
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(("TAKT_", "CUDA_DEVICE_MAX"))}
        self.env.update(TAKT_DIR=str(scratch), TAKT_TABLE="0")

    def run(self, command, limit=240, **env):
        """(status, what it printed, what it complained, seconds). A status of None: it did not end in time."""
        limit = min(limit, self.end - time.monotonic())
        begin = time.monotonic()
        try:
            if limit <= 0:
                raise subprocess.TimeoutExpired(command, 0)
            ended = subprocess.run([str(word) for word in command], env={**self.env, **env}, capture_output=True, text=True,
                                   stdin=subprocess.DEVNULL, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            return None, "", "no time was left for it" if limit <= 0 else f"not ended after {limit:.0f} s", limit
        return ended.returncode, ended.stdout, ended.stderr, time.monotonic() - begin

    def check(self, *arguments, **env):
        return self.run([self.gpu_check, *arguments], **env)


def row(check, what, expected, measured, right):
    """`right` may be None: nothing is expected."""
    return (check, what, expected, measured, "info" if right is None else "pass" if right else "fail")


def rows_of(machine, *arguments, **env):
    """The lines of one run of gpu_check, and one more if it did not end well or said nothing."""
    status, out, err, _ = machine.check(*arguments, **env)
    rows = [tuple(line.split("\t")) for line in out.splitlines() if line.count("\t") == len(COLUMNS) - 1]
    if status != 0 or not rows:
        said = err.strip().splitlines()[-1:] or ["it said nothing"]
        rows.append(row("", f"gpu_check {' '.join(map(str, arguments))}", "ends with 0", said[0] if status is None else f"{status}: {said[0]}", False))
    return rows


def step_ms(machine, pieces, **env):
    """Of the better one of two runs with Takt, and without; None where one failed. In turns, as a GPU warms up."""
    best = {}
    for takt in ("1", "0") * 2:
        status, out, _, _ = machine.run([machine.training, *TRAINING, "--pieces", pieces], TAKT_DISABLE=takt, **env)
        found = re.search(r"step (\S+) ms", out)
        if status != 0 or not found:
            return None
        best[takt] = min(best.get(takt, float("inf")), float(found.group(1)))
    return best["0"], best["1"]


def perturbation(machine):
    """G10: the training step of the examples with regions and without, and with one queue for all streams."""
    status, out, err, _ = machine.run([machine.training])
    rows = [row("G10", "the example learns, and finds the host's losses", "0", str(status), status == 0)]
    for pieces, connections in [(pieces, None) for pieces in PIECES] + [(100, "1")]:
        env = {} if connections is None else {"CUDA_DEVICE_MAX_CONNECTIONS": connections}
        what = f"{pieces} regions in the forward pass" + ("" if connections is None else ", CUDA_DEVICE_MAX_CONNECTIONS=1")
        steps = step_ms(machine, pieces, **env)
        bound = "at most 0.5 % more" if pieces == 100 and connections is None else ""
        if steps is None:
            rows.append(row("G10", what, "two steps", "the example failed", False))
            continue
        more = 100 * (steps[0] / steps[1] - 1)
        measured = f"a step of {steps[0]:.3f} ms, without Takt {steps[1]:.3f} ms: {more:+.2f} %"
        rows.append(row("G10", what, bound, measured, more <= 0.5 if bound else None))
    return rows


def faults(machine):
    """G12: what the application sees is what it sees without Takt, and it ends as soon."""
    rows = []
    for name, what in FAULTS.items():
        without = machine.check("faults", name, TAKT_FILES="0", TAKT_DISABLE="1")
        seen = machine.check("faults", name, TAKT_FILES="0", TAKT_DISABLE="0")
        same = seen[:2] == without[:2] and seen[0] is not None and seen[1] != ""
        difference = [f"{here!r}, not {there!r}" for here, there in zip(seen[1].splitlines(), without[1].splitlines()) if here != there]
        told = "the same" if same else (difference or [f"status {seen[0]}, not {without[0]}"])[0]
        rows.append(row("G12", f"{what}: what the application sees", "as without Takt", told, same))
        later = seen[3] - without[3]
        rows.append(row("G12", f"{what}: the process takes longer by", f"at most {LEAVE} s", f"{later:+.3f} s", later <= LEAVE))
    return rows + rows_of(machine, "faults", "dependent_launch")


def all_checks(machine):
    counted = {"LD_PRELOAD": str(machine.programs / "libcount_calls.so")}
    hip = {"LD_LIBRARY_PATH": f"{machine.programs / 'fakes' / 'hip_on_cuda'}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    yield rows_of(machine, "cost")
    yield rows_of(machine, "spans", **counted)
    yield rows_of(machine, "hip_spans", **counted, **hip)
    yield rows_of(machine, "default_streams")
    yield rows_of(machine, "captures")
    yield rows_of(machine, "cost_of_regions", 1_000_000)
    yield faults(machine)
    yield rows_of(machine, "soak", 10_000_000, **counted)
    yield perturbation(machine)


def driver_version():
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return "not known: no nvidia-smi"
    asked = subprocess.run([tool, "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True, check=False)
    return (asked.stdout.splitlines() or ["not known"])[0]


def columns(rows):
    widths = [max(len(each[column]) for each in rows) for column in range(len(COLUMNS))]
    return ["  ".join(word.ljust(width) for word, width in zip(each, widths)).rstrip() for each in rows]


def page(machine, rows):
    def cells(words):
        return "| " + " | ".join(word.replace("|", "\\|") for word in words) + " |"

    failed = sum(each[-1] == "fail" for each in rows)
    lines = ["# Checked on a GPU", "",
             "Written by `scripts/device-check.sh`; not to be edited. [gpu.md](gpu.md#checked-on-hardware) says what the checks are.", "",
             *[f"* {name}: {value}" for name, value in machine], "",
             f"{sum(each[-1] == 'pass' for each in rows)} right, {failed} not, {sum(each[-1] == 'info' for each in rows)} figures of which nothing "
             "was expected.", "", cells(COLUMNS), cells(["---"] * len(COLUMNS)), *[cells(each) for each in rows]]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="takt-gpu-") as scratch:
        machine = Machine(options.build.resolve(), scratch)
        status, out, err, _ = machine.check("device")
        if status == NO_DEVICE:
            print(f"no GPU: nothing was run ({out.strip()})")
            return NO_DEVICE
        if status != 0:
            print(f"gpu_check device: {status}: {out}{err}", file=sys.stderr)
            return 1
        about = [tuple(line.split("\t", 1)) for line in out.splitlines() if "\t" in line]
        about += [("driver", driver_version()), ("date", datetime.date.today().isoformat())]
        rows = []
        for some in all_checks(machine):
            print("\n".join(f"{each[-1]}: {each[0]} {each[1]}: {each[3]}" for each in some), file=sys.stderr, flush=True)
            rows += some
    print("\n".join([f"{name}: {value}" for name, value in about] + [""] + columns([COLUMNS, *rows])))
    if options.write is not None:
        options.write.write_text(page(about, rows), encoding="utf-8")
        print(f"\nwritten to {options.write}")
    failed = sum(each[-1] == "fail" for each in rows)
    print(f"{len(rows)} lines, {failed} not right")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
