# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program as a child that cannot hang, fill the disk or leave processes or files behind, and reads its
output."""

import csv
import ctypes
import glob
import itertools
import json
import os
import pathlib
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PR_SET_PDEATHSIG = 1
PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2
MIB = 1 << 20
LAUNCHERS = ("TAKT_", "TORCHELASTIC_", "OMPI_", "PMIX_", "PMI_", "MPI_LOCAL", "MV2_", "PALS_", "FLUX_", "SLURM_", "PBS_", "LSB_",
             "MASTER_", "WANDB_")
RANKS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
# Seconds that a busy machine or a sanitizer may add to a test's time limit.
SLACK = float(os.environ.get("SLACK", 1))
# Maximum delay by a busy machine, in seconds. Such tests wait for something that takes longer, like a request with a
# timeout of 30 s, or that never ends.
LATE = 10 + SLACK
ROWS = 20  # frame type
libc = ctypes.CDLL(None, use_errno=True)


def environment(**extra):
    """Returns this environment without Takt's variables and with the given ones; None unsets a variable."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS) and name not in RANKS}
    # By default ThreadSanitizer rejects threads in the child of a multi-threaded process.
    clean["TSAN_OPTIONS"] = clean.get("TSAN_OPTIONS", "") + ":die_after_fork=0"
    clean.update({name: str(value) for name, value in extra.items() if value is not None})
    return clean


class Ended:
    """A program's result: its status as of subprocess (negative: a signal), its output, and its duration."""

    def __init__(self, process, out, err, seconds):
        self.status = process.returncode
        self.pid = process.pid
        self.out = out
        self.err = err
        self.seconds = seconds

    def __str__(self):
        return f"status {self.status} after {self.seconds:.2f} s\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class Started:
    """A running program."""

    def __init__(self, command, env, stdin, stdout, file_bytes, prepare):
        def before_exec():
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if prepare is not None:
                prepare()

        self.begin = time.monotonic()
        self.process = subprocess.Popen(command, env=env, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, text=True,
                                        start_new_session=True, preexec_fn=before_exec)

    def end(self, timeout, words=None):
        """Waits for the program. If it takes longer than `timeout`, kills it with all its children and fails."""
        try:
            out, err = self.process.communicate(words, timeout=timeout)
            ended = Ended(self.process, out or "", err, time.monotonic() - self.begin)
        except subprocess.TimeoutExpired as expired:
            self.kill()
            out, err = self.process.communicate()
            raise AssertionError(f"not ended after {timeout} s\n--- stdout\n{out}\n--- stderr\n{err}") from expired
        finally:
            left = self.kill()
        if left:
            raise AssertionError(f"left processes behind\n{ended}")
        return ended

    def kill(self):
        """Kills the whole process group. Returns True if any process was left."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True


class Case(unittest.TestCase):
    """A test with its own directory; the program under test is the script's first argument."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="takt-test-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.runs = self.scratch / "runs"

    def start(self, *arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, file_bytes=64 * MIB, prepare=None, **env):
        command = [PROGRAM, *map(str, arguments)]
        started = Started(command, environment(**{"TAKT_DIR": self.runs, **env}), stdin, stdout, file_bytes, prepare)
        self.addCleanup(started.kill)
        return started

    def run_program(self, *arguments, timeout=60, status=0, **how):
        ended = self.start(*arguments, **how).end(timeout)
        self.assertEqual(ended.status, status, ended)
        return ended

    def directories(self):
        return sorted(pathlib.Path(name) for name in glob.glob(f"{self.runs}/*/rank-*"))

    def directory(self):
        directories = self.directories()
        self.assertEqual(len(directories), 1, directories)
        return directories[0]

    def summary(self, directory=None):
        return json.loads(((directory or self.directory()) / "summary.json").read_text(encoding="utf-8"))

    def steps(self, directory=None, name="steps.csv"):
        with open((directory or self.directory()) / name, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def frames(self, kind, directory=None):
        """Returns the payloads of one frame type in the journal, if they do not contain the start of another frame."""
        files = sorted((directory or self.directory()).glob("journal-*.tjl"))
        frames = [frame for file in files for frame in file.read_bytes().split(b"tFrm")[1:]]
        return [frame[20:20 + int.from_bytes(frame[:4], "little")] for frame in frames if frame[8:10] == bytes((kind, 0))]

    def rows_in_journal(self, directory=None):
        """Returns the number of rows that its frames declare."""
        def numbers(payload):
            value = shift = 0
            for byte in payload:
                value |= (byte & 0x7F) << shift
                shift += 7
                if byte < 0x80:
                    yield value
                    value = shift = 0
        return sum(list(itertools.islice(numbers(payload), 2))[1] for payload in self.frames(ROWS, directory))

    def job(self, command):
        """Returns the metrics over ranks from `takt report`: {name of a tracker's metric: value}."""
        done = subprocess.run([command, "report", "--json", str(self.runs)], capture_output=True, text=True, check=True,
                              timeout=60 * SLACK)
        run, = json.loads(done.stdout)["runs"]
        values = {"total/job/world_size": len(run["ranks"]) + len(run["missing_ranks"]),
                  "total/job/missing_ranks": len(run["missing_ranks"])}
        for path in run["job"]["paths"]:
            total = path["total"]
            of_path = {"mean_s": total["mean_ns"] / 1e9, "min_s": total["min_ns"] / 1e9, "max_s": total["max_ns"] / 1e9,
                       "imbalance": total["imbalance"], "slowest_rank": total["max_rank"], "ranks": total["ranks"]}
            values.update({f"total/ranks/time/{path['path']}/{name}": value for name, value in of_path.items()})
        return values

    def assert_no_parts(self, directory=None):
        self.assertEqual(sorted(glob.glob(f"{directory or self.directory()}/*.part*")), [])


def wait_until(condition, seconds=60):
    """Polls a condition that cannot be waited for otherwise. Returns True if it was met."""
    end = time.monotonic() + seconds * SLACK
    while not condition():
        if time.monotonic() > end:
            return False
        select.select([], [], [], 0.002)
    return True


def without_might():
    """Makes file modes apply to root, too, in programs executed next."""
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


def calls(summary, path):
    """Returns the number of calls of a path; 0 if the summary lacks it."""
    return sum(each["host"]["n"] for each in summary["paths"] if each["path"] == path)


def losses(summary, what):
    return sum(each["count"] for each in summary["losses"] if each["what"] == what)


def open_paths(summary):
    return [summary["paths"][each["path"]]["path"] for each in summary["open"]]


def main():
    global PROGRAM
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
