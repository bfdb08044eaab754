# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the checks on a GPU from a packed directory and prints one table of results, which it also writes to a file
after each check.

Exits with 0 if all checks passed, 1 if one failed, 77 if there is no GPU. Called by run.sh in a packed directory, which
scripts/device-check.sh creates. Needs only Python 3.8 and its standard library."""

import argparse
import collections
import datetime
import pathlib
import signal
import sys
import tempfile
import time

import gpu_clock
from gpu_machine import LIMIT, Machine, nvidia_smi
from gpu_table import COLUMNS, columns, count, page, row, rows_in, write

QUICK = 8 * 60  # time limit for all quick checks, in seconds
NO_DEVICE = 77
FAULTS = {"illegal_address": "a kernel writes where nothing is", "pending_at_exit": "exit with 1 000 spans pending",
          "reset": "cudaDeviceReset()", "reset_at_once": "cudaDeviceReset() with spans pending", "child": "a forked child has regions",
          "pending_error": "an error of the application's own is pending"}
LEAVE = 0.3  # maximum by which Takt may delay the exit of a process, in seconds


def rows_from(machine, command, **options):
    """Returns the rows of one program, and an extra one if it failed or printed nothing."""
    status, out, err, _ = machine.run(command, **options)
    rows = rows_in(out)
    if status != 0 or not rows:
        said = err.strip().splitlines()[-1:] or ["it said nothing"]
        name = " ".join([pathlib.Path(command[0]).name, *map(str, command[1:])])
        rows.append(row("", name, "ends with 0", said[0] if status is None else f"{status}: {said[0]}", False))
    return rows


def rows_of(machine, *arguments, **options):
    return rows_from(machine, [machine.gpu_check, *arguments], **options)


def perturbation(machine, _full):
    """G10: checks that the training step of the examples is correct, and measures its slowdown by regions, also with
    one queue for all streams."""
    status, _, _, _ = machine.run([machine.training], limit=60)
    rows = [row("G10", "the example learns, and finds the host's losses", "0", str(status), status == 0)]
    rows += rows_of(machine, "steps", 100, limit=60)
    one_queue = rows_of(machine, "steps", 100, limit=60, CUDA_DEVICE_MAX_CONNECTIONS="1")
    return rows + [("G10", f"{each[1]}, CUDA_DEVICE_MAX_CONNECTIONS=1", *each[2:]) for each in one_queue]


def faults(machine, _full=False):
    """G12: checks that the application sees the same with Takt and without, and ends as fast."""
    rows = []
    for name, what in FAULTS.items():
        without = machine.check("faults", name, TAKT_FILES="0", TAKT_DISABLE="1", limit=30)
        seen = machine.check("faults", name, TAKT_FILES="0", TAKT_DISABLE="0", limit=30)
        same = seen[:2] == without[:2] and seen[0] is not None and seen[1] != ""
        difference = [f"{here!r}, not {there!r}" for here, there in zip(seen[1].splitlines(), without[1].splitlines()) if here != there]
        told = "the same" if same else (difference or [f"status {seen[0]}, not {without[0]}"])[0]
        rows.append(row("G12", f"{what}: what the application sees", "as without Takt", told, same))
        later = seen[3] - without[3]
        rows.append(row("G12", f"{what}: the process takes longer by", f"at most {LEAVE} s", f"{later:+.3f} s", later <= LEAVE))
    return rows + rows_of(machine, "faults", "dependent_launch", limit=60)


def program(*arguments, counted=False, hip=False, limit=LIMIT):
    """Returns a check that is one run of gpu_check."""
    def check(machine, _full):
        env = {**(machine.counted() if counted else {}), **(machine.hip() if hip else {})}
        return rows_of(machine, *arguments, limit=limit, **env)
    return check


def clock(machine, _full):
    """G15: compares a minute of kernels on the time line with the GPU's own clock."""
    rows = rows_of(machine, "clock", 60, limit=150)
    return rows if count(rows, "fail") else rows + gpu_clock.compare(machine.scratch)


def torch(machine, _full):
    """G18: checks a process with torch, if this Python has it."""
    return rows_from(machine, [sys.executable, "-B", machine.pack / "gpu_torch.py", machine.pack / "lib" / "libgpu_regions.so"], limit=90)


def probe(machine, _full):
    """Records undocumented behavior of this driver, for information only."""
    return rows_from(machine, [machine.program("gpu_probe")], limit=150)


def soak(machine, full):
    """G11: runs many regions, and a blocked stream."""
    many = rows_of(machine, "soak", 10_000_000 if full else 1_000_000, limit=480 if full else 120, **machine.counted())
    return many + rows_of(machine, "stuck", limit=60)


# A check by name, with the groups of rows that it fills and a flag for quick checks.
Check = collections.namedtuple("Check", "name groups quick run")
CHECKS = (
    Check("probe", ("probe",), True, probe),
    Check("cost", ("cost",), True, program("cost", limit=60)),
    Check("spans", ("G1", "G2", "G3", "G4", "G5", "G6"), True, program("spans", counted=True, limit=60)),
    Check("hip_spans", ("HIP",), True, program("hip_spans", counted=True, hip=True, limit=60)),
    Check("default_streams", ("G7",), True, program("default_streams", limit=60)),
    Check("captures", ("G8",), True, program("captures", limit=60)),
    Check("cost_of_regions", ("G9",), True, program("cost_of_regions", 1_000_000, limit=120)),
    Check("faults", ("G12",), True, faults),
    Check("depth", ("G13",), True, program("depth", limit=60)),
    Check("soak", ("G11",), True, soak),
    Check("perturbation", ("G10",), True, perturbation),
    Check("no_context", ("G14",), True, program("no_context", limit=30)),
    Check("green_contexts", ("G17",), True, program("green_contexts", limit=30)),
    Check("torch", ("G18",), True, torch),
    Check("clock", ("G15",), False, clock),
)


def chosen(options):
    """Returns the checks to run. Exits if a name is unknown."""
    if options.only is None:
        return [check for check in CHECKS if check.quick or options.full]
    names = options.only.split(",")
    known = {name for check in CHECKS for name in (check.name, *check.groups)}
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"there is no check {', '.join(unknown)}; there are {', '.join(check.name for check in CHECKS)}")
    return [check for check in CHECKS if {check.name, *check.groups} & set(names)]


def parsed():
    parser = argparse.ArgumentParser(prog="run.sh", description=__doc__.splitlines()[0])
    parser.add_argument("pack", type=pathlib.Path, help=argparse.SUPPRESS)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--quick", action="store_true", help=f"the quick checks, in at most {QUICK // 60} minutes (the default)")
    which.add_argument("--full", action="store_true", help="all, and the soak with 10 000 000 regions: longer than 10 minutes")
    which.add_argument("--only", metavar="CHECK,...", help="these, by name or number, each as in --full: "
                       + ", ".join(f"{check.name} ({' '.join(check.groups)})" for check in CHECKS))
    parser.add_argument("--write", type=pathlib.Path, metavar="FILE", help="a page of Markdown, written again after each check")
    return parser.parse_args()


def about(machine, printed):
    """Describes what the results are valid for: device, driver and the source of the pack."""
    pairs = [tuple(line.split("\t", 1)) for line in printed.splitlines() if "\t" in line]
    built = machine.pack / "built.txt"
    if built.is_file():
        pairs.append(("built", built.read_text(encoding="utf-8").strip()))
    asked = nvidia_smi(machine, "--query-gpu=driver_version", "--format=csv,noheader")
    pairs.append(("driver", (asked or "").splitlines()[0] if asked else "not known: no nvidia-smi that answers"))
    return pairs + [("date", datetime.date.today().isoformat())]


def run_all(machine, checks, options, head):
    """Returns the rows of all checks. Writes the page after each check."""
    rows = []
    times = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if options.write is not None:
        # fails at once if the page cannot be written
        write(options.write, page(head, rows, [each.name for each in checks]))
    for at, check in enumerate(checks):
        print(f"== {check.name}", file=sys.stderr, flush=True)
        begin = time.monotonic()
        some = check.run(machine, not options.quick and (options.full or options.only is not None))
        times.append(f"{check.name} {time.monotonic() - begin:.0f}")
        print("\n".join(f"{each[-1]}: {each[0]} {each[1]}: {each[3]}" for each in some), file=sys.stderr, flush=True)
        rows += some
        if options.write is not None:
            write(options.write, page(head + [("seconds", ", ".join(times))], rows, [each.name for each in checks[at + 1:]]))
    return rows


def main():
    options = parsed()
    checks = chosen(options)
    with tempfile.TemporaryDirectory(prefix="takt-gpu-") as scratch:
        machine = Machine(options.pack.resolve(), scratch, float("inf") if options.full or options.only else QUICK)
        status, out, err, _ = machine.check("device", limit=60)
        if status == NO_DEVICE:
            print(f"no GPU: nothing was run ({out.strip()})")
            return NO_DEVICE
        if status != 0:
            print(f"gpu_check device: {status}: {out}{err}", file=sys.stderr)
            return 1
        head = about(machine, out)
        rows = run_all(machine, checks, options, head)
    print("\n".join([f"{name}: {value}" for name, value in head] + [""] + columns([COLUMNS, *rows])))
    if options.write is not None:
        print(f"\nwritten to {options.write}")
    print(f"{len(rows)} lines, {count(rows, 'fail')} not right")
    return 1 if count(rows, "fail") else 0


if __name__ == "__main__":
    sys.exit(main())
