# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""A run of a million steps, which takes more than an hour on an accelerated clock. The journal has every step, `takt
report` prints the same sums, and `takt sync` sends windows that contain each step once. The command's memory does not
grow with the run."""

import json
import os
import subprocess

import rig
import tracking

COMMAND = os.environ["COMMAND"]
PRELOADED = os.environ.get("PRELOADED")
STEPS = 1_000_000 if rig.SLACK == 1 else 20_000
A_POLL = 1000  # steps per collection
MOST_MIB = 64  # less than the rows alone would take
PATHS = ("Batch", "Batch/IO", "Batch/Forward")


class Volume(rig.Case):
    def takt(self, *words, **env):
        """Returns its output."""
        out = self.scratch / "out"
        with open(out, "wb") as file:
            process = subprocess.Popen([COMMAND, *map(str, words)], stdout=file, env=rig.environment(**env))
            _, status, use = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0, words)
        if rig.SLACK == 1:  # a sanitizer needs much memory itself
            self.assertLess(use.ru_maxrss / 1024, MOST_MIB, words)
        return out.read_text(encoding="utf-8")

    def test_a_million_steps(self):
        self.run_program("by-hand", *["steps", A_POLL, "poll"] * (STEPS // A_POLL), "close", timeout=120 * rig.SLACK,
                         file_bytes=512 * rig.MIB, TAKT_TABLE=0, TAKT_CLOCK="monotonic", LD_PRELOAD=PRELOADED)
        directory = self.directory()
        self.assertIn("complete, nothing lost", self.takt("check", directory))
        summary = json.loads(self.takt("report", "--json", directory))["runs"][0]["summary"]
        self.assertEqual([rig.calls(summary, path) for path in PATHS], [STEPS] * len(PATHS))
        totals_ns = {each["path"]: each["host"]["total_ns"] for each in summary["paths"]}
        server = tracking.TrackingServer()
        self.addCleanup(server.stop)
        self.takt("sync", directory, MLFLOW_TRACKING_URI=server.url)
        run = server.only_run()
        self.assertEqual((run.status, run.copies()), ("FINISHED", 0))
        for path in PATHS:
            windows = run.metrics[f"time/{path}/mean_s"]
            self.assertGreater(len(windows), 100 if PRELOADED else 0)
            ends = [-1, *(each["step"] for each in windows)]
            self.assertEqual(ends, sorted(set(ends)))
            lengths = [end - before for before, end in zip(ends, ends[1:])]
            # At the end less than half a window may be missing.
            self.assertLess(STEPS - 1 - ends[-1], max(lengths) / 2 + 1)
            total_ns = sum(round(each["value"] * length * 1e9) for each, length in zip(windows, lengths))
            left_ns = totals_ns[path] - total_ns
            self.assertTrue(-len(windows) <= left_ns <= totals_ns[path] / len(windows) * 2, left_ns)


if __name__ == "__main__":
    rig.main()
