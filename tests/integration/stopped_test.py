# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""A stopped process reports for how long it did not run."""

import os
import signal
import subprocess
import time
import unittest

import rig

STOP_S = 1.5
PERIOD_MS = 50


class Stopped(rig.Case):
    def run_with(self, stops):
        started = self.start("steps", 3, "wait", "close", stdin=subprocess.PIPE, TAKT_PERIOD_MS=PERIOD_MS)
        self.assertEqual(started.process.stdout.readline(), "ready\n")
        stopped_ns = 0
        for _ in range(stops):
            begin = time.monotonic_ns()
            os.kill(started.process.pid, signal.SIGSTOP)
            moment = time.monotonic() + STOP_S
            rig.wait_until(lambda until=moment: time.monotonic() >= until)
            stopped_ns += time.monotonic_ns() - begin
            os.kill(started.process.pid, signal.SIGCONT)
            # The loop runs once more, so that two stops are distinguished.
            moment = time.monotonic() + 0.3
            rig.wait_until(lambda until=moment: time.monotonic() >= until)
        ended = started.end(60, "\n")
        self.assertEqual(ended.status, 0, ended)
        return self.summary()["process"], stopped_ns, ended

    def test_stopped(self):
        process, stopped_ns, ended = self.run_with(3)
        # A stop during a collection does not count as waiting.
        self.assertGreater(process["stopped_ns"], STOP_S / 2 * 1e9)
        self.assertLess(process["stopped_ns"], stopped_ns + rig.LATE * 1e9)
        self.assertEqual(process["suspended_ns"], 0)
        self.assertIn("the process did not run for at least ", ended.out)

    def test_not_stopped(self):
        process, _, ended = self.run_with(0)
        self.assertGreater(process["cpu_ns"], 0)
        self.assertEqual(process["suspended_ns"], 0)
        self.assertIn("processor time: ", ended.out)


if __name__ == "__main__":
    rig.main()
