# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""A program killed at any moment during delivery loses at most the data of one period, and no data arrives twice."""

import collections
import csv
import io
import os
import random
import signal
import struct
import subprocess
import time
import unittest

import rig
import tracking

COMMAND = os.environ["COMMAND"]
KILLS = 200 if rig.SLACK == 1 else 10
PERIOD_MS = 10
TOGETHER = 24  # simultaneous deliveries
LONGEST_S = 0.08  # maximum time from the first step to the kill
# The limit for most kills on a busy machine; the typical kill must stay within one period.
LOST_NS = PERIOD_MS * 1e6 + 250e6 * rig.SLACK


class Killed:
    """A killed program with its server. Its log has its steps with their ends, in ns."""

    def __init__(self, directory, server, ends):
        self.directory = directory
        self.server = server
        self.ends = ends
        self.steps = []  # in the journal
        self.sync = None


class Kill(rig.Case):
    def environment(self, server):
        return rig.environment(MLFLOW_TRACKING_URI=server.url)

    def kill(self, number, after_s):
        log = self.scratch / "log"
        self.runs = self.scratch / f"runs-{number}"
        server = tracking.TrackingServer()
        self.addCleanup(server.stop)
        started = self.start("endless", log, TAKT_PERIOD_MS=PERIOD_MS, MLFLOW_TRACKING_URI=server.url)
        self.assertEqual(started.process.stdout.readline(), "ready\n")
        moment = time.monotonic() + after_s
        rig.wait_until(lambda: time.monotonic() >= moment)
        os.kill(started.process.pid, signal.SIGKILL)
        self.assertEqual(started.end(60).status, -signal.SIGKILL)
        self.assertTrue(rig.wait_until(server.is_idle))
        records = log.read_bytes()
        ends = [end for _, end in struct.iter_unpack("qq", records[:len(records) // 16 * 16])]
        return Killed(self.directory(), server, ends)

    def check_journal(self, killed):
        done = subprocess.run([COMMAND, "report", "--steps", killed.directory], capture_output=True, text=True, check=False,
                              timeout=60 * rig.SLACK, env=rig.environment())
        # Before the first period has passed there is no data.
        rows = csv.DictReader(io.StringIO(done.stdout)) if done.returncode == 0 else ()
        killed.steps = [int(row["step"]) for row in rows if row["path"] == "Batch/IO"]
        if rig.SLACK == 1:  # sanitized programs record faster than is collected, and report it
            self.assertEqual(killed.steps, list(range(len(killed.steps))))
        self.assertLessEqual(len(killed.steps), len(killed.ends) + 1)
        self.lost.append(self.lost_ns(killed, max(killed.steps, default=-1)))

    def lost_ns(self, killed, last):
        """Returns how long before the kill the first missing step ended."""
        return killed.ends[-1] - killed.ends[last + 1] if last + 1 < len(killed.ends) else 0

    def begin_sync(self, killed):
        """Starts a sync. It waits a second before it takes a dead program's place, and the test can kill others in that
        time."""
        killed.sync = rig.Started([COMMAND, "sync", "--every-step", killed.directory], self.environment(killed.server), subprocess.DEVNULL,
                                  subprocess.PIPE, 64 * rig.MIB, None)
        self.addCleanup(killed.sync.kill)

    def check_sync(self, killed):
        ended = killed.sync.end(60 * rig.SLACK)
        if "about to deliver it" in ended.err:  # killed while it reported the delivery
            lease = killed.directory / "mlflow.lease"
            self.assertEqual((ended.status, lease.read_bytes()), (3, b""))
            os.utime(lease, (0, 0))
            self.begin_sync(killed)
            ended = killed.sync.end(60 * rig.SLACK)
        if not killed.steps and ended.status == 1:
            return
        self.assertEqual(ended.status, 0, ended)
        killed.server.stop()
        run = killed.server.only_run()
        self.assertEqual(run.status, "KILLED")
        self.assertEqual(run.copies(), 0)
        for key in ("weight", "time/Batch/IO/step_s"):
            there = run.steps(key)
            self.assertEqual(len(set(there)), len(there), key)
            if rig.SLACK == 1:
                self.assertEqual(sorted(there), list(range(len(there))), key)
            # Rows and metrics of a period are written one after the other.
            self.lost.append(self.lost_ns(killed, max(there, default=-1)))
        self.assertLessEqual(set(killed.steps), set(there))

    def begin_for_sigterm(self, server, **env):
        started = self.start("endless", self.scratch / "log", TAKT_SIGTERM=1, TAKT_PERIOD_MS=PERIOD_MS, MLFLOW_TRACKING_URI=server.url, **env)
        self.assertEqual(started.process.stdout.readline(), "ready\n")
        return started

    def end_by_sigterm(self, started):
        os.kill(started.process.pid, signal.SIGTERM)
        ended = started.end(60 * rig.SLACK)
        self.assertEqual(ended.status, -signal.SIGTERM, ended)

    def check_run_of_sigterm(self, server):
        """Checks that the server has everything in the journal, each value once."""
        killed = Killed(self.directory(), server, [])
        self.begin_sync(killed)
        self.assertEqual(killed.sync.end(60 * rig.SLACK).status, 0)
        run = server.only_run()
        self.assertEqual((run.status, run.copies()), ("KILLED", 0))
        steps = self.rows_in_journal()
        self.assertGreater(steps, 0)
        for key in ("time/Batch/IO/step_s", "time/Batch/step_s"):
            self.assertEqual(sorted(set(run.steps(key))), sorted(run.steps(key)), key)
            self.assertEqual(len(run.steps(key)), steps, key)

    def test_ended_by_sigterm_it_is_killed_on_the_server_at_once(self):
        server = tracking.TrackingServer()
        self.addCleanup(server.stop)
        started = self.begin_for_sigterm(server, TAKT_EXIT_MS=30_000)
        self.assertTrue(rig.wait_until(lambda: any(run.points() for run in server.runs.values())))
        self.end_by_sigterm(started)
        run = server.only_run()
        self.assertEqual(run.status, "KILLED")
        there = run.points()
        self.check_run_of_sigterm(server)
        self.assertEqual(run.points(), there)  # nothing was left to send

    def test_ended_by_sigterm_without_a_server_it_is_killed_there_later(self):
        server = tracking.TrackingServer(lambda *_: (503, "text/plain", b"no"))
        self.addCleanup(server.stop)
        started = self.begin_for_sigterm(server, TAKT_EXIT_MS=700)
        self.assertTrue(rig.wait_until(lambda: server.requests))
        self.end_by_sigterm(started)
        self.assertEqual(server.runs, {})
        server.fault = lambda *_: None
        self.check_run_of_sigterm(server)

    def test_killed_while_it_delivers(self):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}")
        moments = random.Random(seed)
        self.lost = []  # ns before the kill without data in a journal or at a server
        delivered = 0
        waiting = collections.deque()
        for number in range(KILLS):
            killed = self.kill(number, moments.uniform(0, LONGEST_S * min(rig.SLACK, 3)))
            delivered += any(run.points() for run in killed.server.runs.values())
            self.check_journal(killed)
            self.begin_sync(killed)
            waiting.append(killed)
            if len(waiting) > TOGETHER:
                self.check_sync(waiting.popleft())
        for killed in waiting:
            self.check_sync(killed)
        self.lost.sort()
        half, most = (self.lost[int(len(self.lost) * part)] for part in (0.5, 0.95))
        print(f"lost at the most {self.lost[-1] / 1e6:.1f} ms, half of them less than {half / 1e6:.1f} ms")
        self.assertLess(half, 2 * PERIOD_MS * 1e6 * rig.SLACK)
        self.assertLess(most, LOST_NS)
        if rig.SLACK == 1:
            self.assertGreater(delivered, KILLS // 10)  # some kills happened during deliveries


if __name__ == "__main__":
    rig.main()
